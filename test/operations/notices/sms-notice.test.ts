/** What the notice of held verification codes says, to whom, and how often. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Role } from '../../../src/base/storage/tables/account-tables.js'
import type { NoticeMail } from '../../../src/operations/notices/notice-mail.js'
import { buildSmsNotices } from '../../../src/operations/notices/sms-notice.js'
import { recordEvent } from '../../../src/records/events/event-log.js'
import { insertMember } from '../../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../../src/workspaces/accounts/people/users.js'
import type { SmsHeldData } from '../../../src/workspaces/sms/conversion-watch.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const DAY = 86_400_000
const at = Date.UTC(2026, 10, 22, 15, 4)
const data: SmsHeldData = {
  prefix: '+43660',
  sent: 40,
  verified: 1,
  min_verified_percent: 10,
  held_at: '2026-11-22T15:04:00.000Z',
  until_at: '2026-11-22T16:04:00.000Z',
}

async function addPeople({ commit }: Database, workspaceId: string, roles: readonly Role[]): Promise<void> {
  for (const role of roles) {
    const [id, email] = [`${workspaceId}_${role}`, parseAddress(`${role}@${workspaceId}.test`)]
    await commit([
      insertUser({ id, email, full_name: role, password_hash: null, created_at: 0 }),
      insertMember({ id, workspace_id: workspaceId, user_id: id, role, joined_at: 0 }),
    ])
  }
}

t.test('the owner and the admins get the figures and what to do', async (t) => {
  const { database } = await temporaryDatabase(t)
  await addPeople(database, 'a', ['owner', 'admin', 'member'])
  await addPeople(database, 'b', ['owner'])
  const mails = await buildSmsNotices(database.read, { seq: 1, workspace_id: 'a', created_at: at }, data)
  t.same(mails.map(({ to }) => to).sort(), ['admin@a.test', 'owner@a.test'])
  t.equal(mails[0]?.subject, 'Verification codes to +43660 are held')
  const text = JSON.stringify(mails[0]?.pieces)
  t.match(text, 'to numbers that begin with +43660 from 2026-11-22 15:04 UTC to 2026-11-22 16:04 UTC.')
  t.match(text, 'Of 40 codes that were sent to such numbers in the hour before, 1 was verified.')
  t.match(text, 'The limit is 10 percent.')
  t.match(text, '"posthorn sms release +43660 --workspace a"')
})

t.test('a prefix causes one notice a day, and a workspace twenty', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await addPeople(database, 'a', ['owner'])
  await addPeople(database, 'b', ['owner'])
  const hold = async (prefix: string, now: number, workspaceId = 'a'): Promise<readonly NoticeMail[]> => {
    const held = { ...data, prefix }
    await commit([recordEvent({ workspaceId, type: 'sms.held', emailId: null, recipient: null, at: now, data: held })])
    const [event] = await read<{ seq: number; workspace_id: string; created_at: number }>(
      'select seq, workspace_id, created_at from events order by seq desc limit 1',
      [],
    )
    return event === undefined ? [] : await buildSmsNotices(read, event, held)
  }
  const counts = async (prefix: string, now: number, workspaceId?: string): Promise<number> =>
    (await hold(prefix, now, workspaceId)).length
  t.equal(await counts('+43660', at), 1)
  t.equal(await counts('+43660', at + 3_600_000), 0, 'held again on the same day')
  t.equal(await counts('+43664', at + 3_600_000), 1)
  t.equal(await counts('+43660', at + 3_600_000, 'b'), 1, 'another workspace')
  const next = at - (at % DAY) + DAY
  t.equal(await counts('+43660', next), 1, 'the next day')
  let notices = 0
  for (let place = 0; place < 30; place += 1) notices += await counts(`+44${700 + place}`, next + place)
  t.equal(notices, 19, 'with the one before, 20')
  t.equal(await counts('+44800', next + DAY), 1)
})
