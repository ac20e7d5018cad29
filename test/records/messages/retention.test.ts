/** What is removed, when, in how small steps, and that housekeeping gets to it. */
import { pino } from 'pino'
import t from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { readServiceState } from '../../../src/base/storage/db/service-state.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { Housekeeping } from '../../../src/operations/upkeep/housekeeping.js'
import { noteKey, removeExpiredKeys } from '../../../src/outbound/sending/idempotency.js'
import { createLinkId } from '../../../src/outbound/tracking/link-id.js'
import { insertHtmlEdits, insertLinks } from '../../../src/outbound/tracking/links.js'
import { recordEvent } from '../../../src/records/events/event-log.js'
import { insertSignature } from '../../../src/records/messages/email/raw-message.js'
import { insertAttempt } from '../../../src/records/messages/queue/attempts.js'
import { removeEntry } from '../../../src/records/messages/queue/queue.js'
import { MessagePurge } from '../../../src/records/messages/retention.js'
import { operatorActor, recordAuditEntry } from '../../../src/workspaces/accounts/access/audit-log.js'
import { addUsage, domainUsageKind } from '../../../src/workspaces/accounts/limits/usage.js'
import { writeConfiguration } from '../../helpers/daemon/test-daemon.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { waitUntil } from '../../helpers/wait-until.js'

const tables = [
  ...['emails', 'recipients', 'raw_messages', 'dkim_signatures', 'html_edits', 'recipient_copies', 'queue', 'attempts'],
  'events',
] as const

const counts = async ({ read }: Database): Promise<Record<string, number>> =>
  Object.fromEntries(
    await Promise.all(
      tables.map(async (table) => [
        table,
        (await read<{ n: number }>(`select count(*) as n from ${table}`, []))[0]?.n ?? -1,
      ]),
    ),
  )

/** An email of the moment `at` with one attempt; `settled`: it has left the queue. */
async function email({ commit, read }: Database, at: number, settled: boolean): Promise<string> {
  const { email, writes } = bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at })
  await commit(writes)
  const [row] = await read<{ id: string }>('select id from queue where email_id = ?', [email.id])
  const id = row?.id ?? ''
  const of = { workspace_id: 'ws_1', email_id: email.id }
  await commit([
    insertSignature({ ...of, created_at: at, field: 'DKIM-Signature: x\r\n' }),
    insertHtmlEdits({ ...of, created_at: at, edits: toJson(['x']) }),
    {
      sql: `insert into recipient_copies (recipient_id, email_id, workspace_id, created_at, prefix, suffix, bytes)
        values (?, ?, 'ws_1', ?, 0, 0, ?)`,
      parameters: [id, email.id, at, Buffer.alloc(0)],
    },
    insertAttempt({
      ...of,
      recipient_id: id,
      number: 1,
      at,
      duration: 1,
      mx: null,
      address: null,
      tls: null,
      reached: 1,
      outcome: settled ? 'delivered' : 'deferred',
      reason: null,
      response: '',
      next_attempt_at: null,
    }),
    ...(settled ? [removeEntry({ id })] : []),
  ])
  return email.id
}

async function steps(database: Database, limits: ConstructorParameters<typeof MessagePurge>[1]): Promise<number> {
  let count = 1
  const purge = new MessagePurge(database, limits)
  while (await purge.step()) count += 1
  return count
}

t.test('bytes go first, records later, and nothing of unsettled emails', async (t) => {
  const { database } = await temporaryDatabase(t)
  await email(database, 1000, true)
  const waiting = await email(database, 1000, false)
  await email(database, 5000, true)
  await steps(database, { messagesBefore: 3000, eventsBefore: 0 })
  t.same(await counts(database), {
    emails: 3,
    recipients: 3,
    raw_messages: 2,
    dkim_signatures: 2,
    html_edits: 2,
    recipient_copies: 2,
    queue: 1,
    attempts: 3,
    events: 3,
  })
  await steps(database, { messagesBefore: 3000, eventsBefore: 3000 })
  t.same(await counts(database), {
    emails: 2,
    recipients: 2,
    raw_messages: 2,
    dkim_signatures: 2,
    html_edits: 2,
    recipient_copies: 2,
    queue: 1,
    attempts: 2,
    events: 1,
  })
  t.same(
    (await database.read<{ id: string }>('select id from emails where created_at = 1000', [])).map(({ id }) => id),
    [waiting],
  )
  t.equal(await new MessagePurge(database, { messagesBefore: 3000, eventsBefore: 3000 }).step(), false)
})

t.test('records take their bytes with them', async (t) => {
  const { database } = await temporaryDatabase(t)
  await email(database, 1000, true)
  await steps(database, { messagesBefore: 0, eventsBefore: 3000 })
  t.same(
    Object.values(await counts(database)),
    tables.map(() => 0),
  )
})

t.test('a step is small, and thousands of rows are removed in many', async (t) => {
  const { database } = await temporaryDatabase(t)
  const old = Array.from({ length: 1000 }, (_, n) =>
    recordEvent({ workspaceId: 'ws_1', type: 'webhook.test', emailId: null, recipient: null, at: n, data: {} }),
  )
  await database.commit(old)
  await database.commit([
    recordEvent({ workspaceId: 'ws_1', type: 'webhook.test', emailId: null, recipient: null, at: 9000, data: {} }),
  ])
  const limits = { messagesBefore: 0, eventsBefore: 5000 }
  t.equal(await new MessagePurge(database, limits).step(), true)
  const left = (await counts(database))['events'] ?? 0
  t.ok(left > 700 && left < 1001, `${left} are left after the first`)
  t.ok((await steps(database, limits)) > 3)
  t.equal((await counts(database))['events'], 1)
  const emails = Array.from({ length: 450 }, () => bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at: 1000 }))
  await Promise.all(emails.map(({ writes }) => database.commit(writes)))
  await database.commit([{ sql: 'delete from queue', parameters: [] }])
  t.equal(await steps(database, { messagesBefore: 3000, eventsBefore: 0 }), 3)
  t.equal((await counts(database))['raw_messages'], 0)
})

t.test('idempotency keys are removed in small steps, smaller if their answers are large', async (t) => {
  const { database } = await temporaryDatabase(t)
  const key = (n: number, answer: string | null) =>
    noteKey({ workspaceId: 'ws_1', key: `k${n}`, fingerprint: '' }, { emailId: '', answer, progress: null }, n)
  const left = async (): Promise<number> =>
    (await database.read<{ n: number }>('select count(*) as n from idempotency', []))[0]?.n ?? -1
  await database.commit(Array.from({ length: 600 }, (_, n) => key(n, null)).flat())
  await database.commit(Array.from({ length: 9 }, (_, n) => key(1000 + n, 'x'.repeat(1_048_576))).flat())
  await database.commit([...key(1500, 'y'.repeat(5 * 1_048_576)), ...key(2000, null)])
  const after: number[] = []
  do after.push(await left())
  while (await removeExpiredKeys(database, 2000))
  t.same([...after, await left()], [611, 111, 7, 3, 2, 1])
})

t.test('overdue housekeeping runs at the start and logs it', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const { config } = writeConfiguration(file.slice(0, file.lastIndexOf('/')), {
    settings: { retention: { messages: '1d', events: '2d', audit: '3d', links: '4d' } },
  })
  const day = 86_400_000
  let now = 10 * day
  const errors: string[] = []
  const parts = {
    settings: () => config,
    config,
    clock: () => now,
    log: pino({ level: 'error' }, { write: (line) => errors.push(line) }),
    database,
  }
  const lastRun = async (): Promise<string | undefined> =>
    (await readServiceState(database.read, { key: 'housekeeping_last_run' }))[0]?.value
  await email(database, now - 1.5 * day, true)
  const act = { workspaceId: 'ws_1', actor: operatorActor, action: 'domain.deleted', target: 'd' } as const
  await database.commit([3.5, 2.5].map((days) => recordAuditEntry({ ...act, at: now - days * day })))
  await database.commit(
    [now - 2 * day, now].flatMap((at, n) =>
      noteKey(
        { workspaceId: 'ws_1', key: `k${n}`, fingerprint: '' },
        { emailId: '', answer: null, progress: null },
        at,
      ),
    ),
  )
  const link = (at: number) =>
    insertLinks({ workspace_id: 'ws_1', email_id: '', created_at: at, links: toJson([[createLinkId(at), '']]) })
  await database.commit([link(now - 5.5 * day), link(now - 4.5 * day)])
  const used = (at: number) => addUsage({ workspace_id: 'ws_1', kind: domainUsageKind('a.test'), bucket: at, count: 1 })
  await database.commit([used(now - 2 * day), used(now)])

  const begin = async (): Promise<Housekeeping> => {
    const housekeeping = new Housekeeping(parts)
    await housekeeping.start()
    return housekeeping
  }
  const first = await begin()
  await waitUntil('the first run', async () => (await lastRun()) === String(now))
  await first.stop()
  t.match(await counts(database), { emails: 1, raw_messages: 0 })
  t.same(await database.read('select key from idempotency', []), [{ key: 'k1' }])
  t.same(await database.read('select bucket from usage', []), [{ bucket: now }])
  t.same(await database.read('select at from audit_log', []), [{ at: now - 2.5 * day }])
  t.same(
    await database.read('select created_at from links', []),
    [{ created_at: now - 4.5 * day }],
    'after its message',
  )

  now += 600_000
  const second = await begin()
  await second.stop()
  t.equal(await lastRun(), String(10 * day), 'a start soon after does nothing')
  now += day
  const third = await begin()
  await waitUntil('the third', async () => (await lastRun()) === String(now))
  await third.stop()
  t.equal((await counts(database))['emails'], 0)
  t.same(errors, [])
})
