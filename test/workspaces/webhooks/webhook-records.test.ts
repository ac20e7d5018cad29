/** Records of webhooks: the limit of a workspace, where they begin in the log, changes, and secrets. */
import t from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { tryCommit } from '../../../src/base/storage/db/write.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { disableWebhook } from '../../../src/workspaces/webhooks/disable-webhook.js'
import {
  changeWebhook,
  insertWebhook,
  MAX_WEBHOOKS,
  requireEnabledWebhook,
  requireWebhook,
  rotateSecret,
  type Webhook,
  type WebhookRef,
  webhooksOfWorkspace,
} from '../../../src/workspaces/webhooks/webhook-records.js'
import { catchRefusal } from '../../helpers/catch-refusal.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { buildEventWrite } from '../../helpers/database/store-events.js'

const addEvents = (database: Database, count: number, workspaceId = 'ws_1'): Promise<void> =>
  database.commit(Array.from({ length: count }, () => buildEventWrite({ workspaceId, type: 'email.sent', at: 1 })))

const change = (database: Database, ref: WebhookRef, ...[what]: [Parameters<typeof changeWebhook>[1]]): Promise<void> =>
  database.commit([changeWebhook(ref, what, 2)])

t.test('a workspace has at most fifty, however many requests come at once', async (t) => {
  const { database } = await temporaryDatabase(t)
  const insert = (at: number): Promise<boolean> => {
    const webhook = { id: `wh_${at}`, workspaceId: 'ws_1', url: 'https://a.test/', events: toJson([]), secret: 's' }
    return tryCommit(database.commit([insertWebhook({ ...webhook, now: 1 })]))
  }
  const made = await Promise.all(Array.from({ length: 60 }, (_, at) => insert(at)))
  t.equal(made.filter(Boolean).length, MAX_WEBHOOKS)
  t.equal((await webhooksOfWorkspace(database.read, { workspaceId: 'ws_1' })).length, MAX_WEBHOOKS)
  await createWebhook(database, { workspaceId: 'ws_2' })
  t.equal((await webhooksOfWorkspace(database.read, { workspaceId: 'ws_2' })).length, 1, 'each workspace has its own')
})

t.test('the workspaces of one owner have fifty together', async (t) => {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  await database.commit(
    await Promise.all(
      ['ws_1', 'ws_2'].map((id) => row('members', { id, workspace_id: id, user_id: 'anna', role: 'owner' })),
    ),
  )
  const insert = (at: number): Promise<boolean> => {
    const webhook = { id: `wh_${at}`, workspaceId: `ws_${1 + (at % 2)}`, url: 'https://a.test/' }
    return tryCommit(database.commit([insertWebhook({ ...webhook, events: toJson([]), secret: 's', now: 1 })]))
  }
  for (let at = 0; at < MAX_WEBHOOKS; at += 1) t.ok(await insert(at))
  t.same([await insert(51), await insert(52)], [false, false])
})

t.test('a webhook begins with the next event of the log', async (t) => {
  const { database } = await temporaryDatabase(t)
  const cursorOf = async (ref: WebhookRef): Promise<number> => (await requireWebhook(database.read, ref)).event_cursor
  const early = await createWebhook(database)
  t.equal(await cursorOf(early), 0)
  await addEvents(database, 3)
  await addEvents(database, 2, 'ws_2')
  const late = await createWebhook(database)
  t.equal(await cursorOf(late), 5)

  await change(database, early, { enabled: true })
  t.equal(await cursorOf(early), 0, 'enabled already: nothing is skipped')
  await change(database, early, { enabled: false })
  t.equal(await cursorOf(early), 0)
  await change(database, early, { enabled: true, events: ['email.queued'] })
  t.equal(await cursorOf(early), 5, 'what happened while it was disabled is skipped')
  t.equal((await requireWebhook(database.read, early)).events, '["email.queued"]')
})

t.test('a webhook that the service disabled starts anew when it is enabled', async (t) => {
  const { database } = await temporaryDatabase(t)
  const ref = await createWebhook(database)
  const setFailing = { sql: 'update webhooks set failing_since = 7', parameters: [] }
  await database.commit([setFailing])
  const row = await requireWebhook(database.read, ref)
  t.ok(await tryCommit(database.commit(disableWebhook(row, 'failing', 9))))
  t.notOk(await tryCommit(database.commit(disableWebhook(row, 'gone', 10))), 'once')
  t.match(await requireWebhook(database.read, ref), { enabled: 0, disabled_reason: 'failing', updated_at: 9 })
  const disabled = { kind: 'conflict', details: { id: ref.id, disabled_reason: 'failing' } }
  t.match(await catchRefusal(() => requireEnabledWebhook(database.read, ref)), disabled)
  const [event] = await database.read<{ type: string; data: string }>('select type, data from events', [])
  t.equal(event?.type, 'webhook.disabled')
  t.same(JSON.parse(event?.data ?? ''), {
    webhook_id: ref.id,
    url: 'https://hooks.example/',
    reason: 'failing',
    failing_since: '1970-01-01T00:00:00.007Z',
  })
  t.match(await database.read('select actor, action, target from audit_log', []), [
    { actor: 'service', action: 'webhook.disabled', target: ref.id },
  ])
  await change(database, ref, { enabled: true })
  t.match(await requireWebhook(database.read, ref), { enabled: 1, disabled_reason: null, failing_since: null })
})

t.test('a new URL has not failed yet', async (t) => {
  const { database } = await temporaryDatabase(t)
  const ref = await createWebhook(database)
  await database.commit([{ sql: 'update webhooks set failing_since = 7', parameters: [] }])
  await change(database, ref, { events: ['email.bounced'] })
  t.equal((await requireWebhook(database.read, ref)).failing_since, 7)
  await change(database, ref, { enabled: true })
  t.equal((await requireWebhook(database.read, ref)).failing_since, 7, 'enabling what is enabled forgets nothing')
  await change(database, ref, { url: 'https://new.example/' })
  t.match(await requireWebhook(database.read, ref), { url: 'https://new.example/', failing_since: null })
})

t.test('the secret before the last one signs for a day', async (t) => {
  const { database } = await temporaryDatabase(t)
  const ref = await createWebhook(database)
  const secrets = async (): Promise<Pick<Webhook, 'secret' | 'previous_secret' | 'previous_secret_until'>> => {
    const { secret, previous_secret, previous_secret_until } = await requireWebhook(database.read, ref)
    return { secret, previous_secret, previous_secret_until }
  }
  const { secret: first } = await secrets()
  await database.commit([rotateSecret(ref, 'whsec_2', 1_000)])
  t.same(await secrets(), { secret: 'whsec_2', previous_secret: first, previous_secret_until: 86_401_000 })
  await database.commit([rotateSecret(ref, 'whsec_3', 2_000)])
  t.same(await secrets(), { secret: 'whsec_3', previous_secret: 'whsec_2', previous_secret_until: 86_402_000 })
})

t.test('a webhook of another workspace does not exist', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { id } = await createWebhook(database)
  const foreign = { workspaceId: 'ws_2', id }
  const unknown = { kind: 'webhook-not-found', details: { id } }
  t.match(await catchRefusal(() => requireWebhook(database.read, foreign)), unknown)
  t.notOk(await tryCommit(database.commit([changeWebhook(foreign, { enabled: false }, 2)])))
  t.notOk(await tryCommit(database.commit([rotateSecret(foreign, 'whsec_2', 2)])))
  t.match(await requireWebhook(database.read, { workspaceId: 'ws_1', id }), { enabled: 1, previous_secret: null })
})
