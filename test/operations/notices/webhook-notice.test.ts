/** What the notice of a disabled webhook says, and to whom. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Role } from '../../../src/base/storage/tables/account-tables.js'
import { buildWebhookNotices } from '../../../src/operations/notices/webhook-notice.js'
import { recordEvent } from '../../../src/records/events/event-log.js'
import { insertMember } from '../../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../../src/workspaces/accounts/people/users.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { buildEventWrite } from '../../helpers/database/store-events.js'

const at = Date.UTC(2026, 10, 22, 15, 4)
const common = { webhook_id: 'wh_1', url: 'https://user-hooks.example:8443/secret?key=secret' }

const cases = [
  {
    name: 'gone',
    data: { ...common, reason: 'gone', failing_since: null },
    texts: [/answered 410/, /disabled on 2026-11-22 15:04 UTC/, /"from": "2026-11-22T15:04:00.000Z"/],
  },
  {
    name: 'failing',
    data: { ...common, reason: 'failing', failing_since: '2026-11-19T15:00:00.000Z' },
    texts: [/No request to the endpoint succeeded since 2026-11-19 15:00 UTC/, /"from": "2026-11-19T15:00:00.000Z"/],
  },
] as const

t.test('the owner and the admins get it, with the way back and without secrets', async (t) => {
  const { database } = await temporaryDatabase(t)
  for (const role of ['owner', 'admin', 'member'] satisfies Role[]) {
    const email = parseAddress(`${role}@a.test`)
    await database.commit([
      insertUser({ id: role, email, full_name: role, password_hash: null, created_at: 0 }),
      insertMember({ id: role, workspace_id: 'ws_1', user_id: role, role, joined_at: 0 }),
    ])
  }
  const deps = { read: database.read, publicUrl: 'https://mail.service.test' }
  for (const { name, data, texts } of cases) {
    const mails = await buildWebhookNotices(deps, { seq: 1, workspace_id: 'ws_1', created_at: at }, data)
    t.same(mails.map(({ to }) => to).sort(), ['admin@a.test', 'owner@a.test'], name)
    const text = JSON.stringify(mails[0]).replaceAll('\\"', '"')
    t.match(text, 'The webhook at https://user-hooks.example:8443 was disabled"')
    for (const each of texts) t.match(text, each)
    t.match(text, 'PATCH https://mail.service.test/v1/webhooks/wh_1 {"enabled": true}')
    t.notMatch(text, 'secret')
  }
})

t.test('a webhook causes one notice a day, and a workspace fifty', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([
    insertUser({ id: 'u', email: parseAddress('owner@a.test'), full_name: 'u', password_hash: null, created_at: 0 }),
    insertMember({ id: 'm', workspace_id: 'ws_1', user_id: 'u', role: 'owner', joined_at: 0 }),
  ])
  const deps = { read: database.read, publicUrl: 'https://mail.service.test' }
  const data = (id: string) => ({ ...cases[0].data, webhook_id: id })
  const disable = async (id: string, at: number, workspaceId = 'ws_1'): Promise<number> => {
    const about = { workspaceId, emailId: null, recipient: null, at }
    await database.commit([recordEvent({ ...about, type: 'webhook.disabled', data: data(id) })])
    const [event] = await database.read<{ seq: number; workspace_id: string; created_at: number }>(
      'select seq, workspace_id, created_at from events order by seq desc limit 1',
      [],
    )
    return event === undefined ? -1 : (await buildWebhookNotices(deps, event, data(id))).length
  }
  const day = 86_400_000
  t.equal(await disable('wh_1', at, 'ws_2'), 0, 'no administrators')
  t.equal(await disable('wh_1', at), 1)
  t.equal(await disable('wh_1', at + 1), 0)
  t.equal(await disable('wh_2', at + 1), 1)
  t.equal(await disable('wh_1', at + 1 + day), 1, 'a day later')
  let notices = 0
  for (let place = 0; place < 60; place += 1) notices += await disable(`wh_many_${place}`, at + 2 * day)
  t.equal(notices, 49, 'with the one of less than a day ago, 50')
})

t.test('the replay begins with the oldest event that still waits for its first attempt', async (t) => {
  const { database } = await temporaryDatabase(t)
  const webhook = await createWebhook(database, { workspaceId: 'ws_1', events: ['email.sent'] })
  const email = parseAddress('owner@a.test')
  await database.commit([
    insertUser({ id: 'u', email, full_name: 'O', password_hash: null, created_at: 0 }),
    insertMember({ id: 'm', workspace_id: 'ws_1', user_id: 'u', role: 'owner', joined_at: 0 }),
  ])
  for (const minutes of [30, 20])
    await database.commit([buildEventWrite({ type: 'email.sent', at: at - minutes * 60_000 })])
  const deps = { read: database.read, publicUrl: 'https://mail.service.test' }
  const data = { ...common, webhook_id: webhook.id, reason: 'gone', failing_since: null } as const
  const [mail] = await buildWebhookNotices(deps, { seq: 1_000, workspace_id: 'ws_1', created_at: at }, data)
  t.match(JSON.stringify(mail).replaceAll('\\"', '"'), /"from": "2026-11-22T14:34:00.000Z"/)
})
