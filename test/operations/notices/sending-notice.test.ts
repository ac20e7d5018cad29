/** Notices of the circuit breaker: whom they tell what, and which are left out. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { buildReleaseNotices, buildSendingNotices } from '../../../src/operations/notices/sending-notice.js'
import { recordEvent } from '../../../src/records/events/event-log.js'
import type { SendingData } from '../../../src/records/events/payloads.js'
import { insertMember } from '../../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../../src/workspaces/accounts/people/users.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const now = Date.UTC(2030, 0, 31, 9)
const workspaceId = 'ws_1'
const held: SendingData = {
  ...{ scope: 'domain', id: 'a.test', cause: 'bounces', messages: 1_000, failures: 124 },
  ...{ percent: 12.4, limit_percent: 10, window_hours: 24 },
}

const text = (mail: { readonly pieces: readonly object[] } | undefined): string => JSON.stringify(mail?.pieces)

t.test('the administrators are told the figures, and not twice', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  for (const [id, role] of [
    ['owner', 'owner'],
    ['admin', 'admin'],
    ['member', 'member'],
  ] as const) {
    await commit([
      insertUser({ id, email: parseAddress(`${id}@a.test`), full_name: id, password_hash: null, created_at: 0 }),
      insertMember({ id, workspace_id: workspaceId, user_id: id, role, joined_at: now }),
    ])
  }
  const eventOf = (type: 'sending.warned' | 'sending.held', seq: number, at = now) => ({
    ...{ type, seq, workspace_id: workspaceId, created_at: at },
  })
  const mails = await buildSendingNotices(read, eventOf('sending.held', 1), held)
  t.same(mails.map(({ to }) => to).sort(), ['admin@a.test', 'owner@a.test'])
  t.equal(mails[0]?.subject, 'Mail of the domain a.test is held')
  t.match(text(mails[0]), /124 of 1,000 messages of the last day bounced: 12\.4 percent\. The limit is 10 percent\./)
  t.match(text(mails[0]), /posthorn breaker release a\.test --workspace ws_1/)
  const [warning] = await buildSendingNotices(read, eventOf('sending.warned', 1), { ...held, cause: 'complaints' })
  t.equal(warning?.subject, 'Mail of the domain a.test will be held if more of it fails')
  t.match(text(warning), /messages of the last 7 days were reported as spam/)
  const released = { ...held, held_at: '2030-01-30T09:00:00.000Z', released_by: 'figures' } as const
  const release = { type: 'sending.released', seq: 1, workspace_id: workspaceId, created_at: now } as const
  t.match(
    text((await buildReleaseNotices(read, release, released))[0]),
    /again, which it had held since .*\. The figures are below the limits again/,
  )

  const store = (data: SendingData, at: number) =>
    commit([recordEvent({ workspaceId, type: 'sending.held', emailId: null, recipient: null, at, data })])
  await store({ ...held, scope: 'workspace', id: workspaceId }, now)
  const count = async (data: SendingData, at: number): Promise<number> =>
    (await buildSendingNotices(read, eventOf('sending.held', 100, at), data)).length
  t.equal(await count(held, now + 59_999), 0, 'the whole workspace was told of')
  t.equal(await count(held, now + 60_000), 2)
  t.equal(await count({ ...held, scope: 'workspace', id: workspaceId }, now + 1), 2)
  for (let at = 0; at < 19; at += 1) await store({ ...held, id: `${at}.test` }, now + at)
  t.equal(await count(held, now + 3_600_000), 0, 'enough of them today')
  t.equal(await count(held, now + 86_400_000), 2, 'and again tomorrow')
})
