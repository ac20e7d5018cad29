/** The states of a recipient and of its email: enqueue, settle, roll-up, on a real database. */
import fc from 'fast-check'
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import type { Write } from '../../../../src/base/storage/db/write.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import type { RecipientStatus } from '../../../../src/base/storage/tables/email-tables.js'
import { toTagObject } from '../../../../src/records/messages/email/email-event.js'
import { rollUp } from '../../../../src/records/messages/email/roll-up.js'
import { detailsOfAnyWorkspace, readEmailDetails } from '../../../../src/records/messages/email-details.js'
import { reachedAttempts } from '../../../../src/records/messages/queue/attempts.js'
import { enqueue } from '../../../../src/records/messages/queue/enqueue.js'
import {
  type AttemptRecord,
  settleAccepted,
  settleBounced,
  settleDeferred,
  settleFailed,
} from '../../../../src/records/messages/queue/settle.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const statuses: readonly RecipientStatus[] = [
  'scheduled',
  'queued',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'suppressed',
  'cancelled',
]

t.test('the status of an email is the first that fits', async (t) => {
  const table: readonly (readonly [of: readonly RecipientStatus[], status: string])[] = [
    [['queued', 'delivered', 'bounced'], 'queued'],
    [['bounced', 'delivered', 'sent'], 'delivered'],
    [['bounced', 'sent', 'failed'], 'sent'],
    [['failed', 'bounced'], 'bounced'],
    [['failed', 'suppressed'], 'failed'],
    [['delivered', 'suppressed'], 'delivered'],
    [['suppressed'], 'failed'],
    [['scheduled', 'suppressed'], 'scheduled'],
    [['cancelled', 'suppressed'], 'cancelled'],
    [[], 'failed'],
  ]
  for (const [of, status] of table) t.equal(rollUp(of), status, of.join(' '))
})

interface Home {
  readonly database: Database
  readonly id: string
  readonly attempted: (to: string, more?: Partial<AttemptRecord>) => AttemptRecord
  readonly email: () => Promise<Record<string, unknown>>
  readonly commit: (writes: readonly Write[]) => Promise<void>
}

async function storeQueued(
  database: Database,
  recipients: readonly string[],
  suppressed: readonly string[] = [],
): Promise<Home> {
  const { email } = bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at: 1000 })
  const tagged = { ...email, tags: toJson([{ name: 'a', value: '1' }]) }
  const all = [...recipients, ...suppressed].map((to) => ({
    address: parseAddress(to),
    suppressed: suppressed.includes(to),
    notify: null,
    orcpt: null,
  }))
  const made = enqueue(tagged, all, Buffer.from('From: app@a.test\r\n\r\n'))
  await database.commit(made.writes)
  return {
    database,
    id: email.id,
    commit: database.commit,
    email: async () =>
      (await database.read<Record<string, unknown>>('select * from emails where id = ?', [email.id]))[0] ?? {},
    attempted: (to, more = {}) => {
      const entry = made.entries.find(({ recipient }) => recipient === to)
      if (entry === undefined) throw new Error(`${to} is not queued`)
      return {
        entry,
        email: made.email,
        number: 1,
        at: 2000,
        endedAt: 2500,
        mx: 'mx.b.test',
        address: '192.0.2.1',
        tls: 'TLSv1.3',
        reached: true,
        response: '250 ok',
        reason: null,
        transcript: 'a dialogue',
        ...more,
      }
    },
  }
}

const events = async (database: Database, id: string): Promise<unknown[]> =>
  (
    await database.read<{ type: string; recipient: string | null; data: string }>(
      'select type, recipient, data from events where email_id = ? order by seq',
      [id],
    )
  ).map(({ data, ...row }) => ({ ...row, data: JSON.parse(data) as unknown }))

t.test('an enqueued email is complete, with its recipients in their order', async (t) => {
  const { database } = await temporaryDatabase(t)
  const to = Array.from({ length: 20 }, (_, n) => `r${n}@b.test`)
  const { id, email } = await storeQueued(database, to, ['gone@b.test'])
  t.match(await email(), { status: 'queued', size: 20, created_at: 1000, sent_at: null })
  t.same(
    (await detailsOfAnyWorkspace(database.read, id))?.recipients.map((recipient) => recipient.email),
    [...to, 'gone@b.test'],
  )
  t.equal((await database.read('select 1 from queue', [])).length, 20)
  t.match((await database.read('select * from queue', []))[0], {
    priority: 1,
    attempts: 0,
    enqueued_at: 1000,
    next_attempt_at: 1000,
    leased: 0,
    held: 0,
    noticed: 0,
  })
  t.match(
    await events(database, id),
    to.map((recipient) => ({ type: 'email.queued', recipient, data: { to: recipient, tags: { a: '1' } } })),
    'one event for each recipient that the email is sent to',
  )
})

t.test('a scheduled email waits in its own state', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { email, writes, entries } = bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at: 1000, scheduledFor: 9000 })
  await database.commit(writes)
  t.match(entries, [{ enqueued_at: 9000, next_attempt_at: 9000 }])
  t.match(await database.read('select * from queue', []), [{ enqueued_at: 9000, next_attempt_at: 9000 }])
  t.match(await detailsOfAnyWorkspace(database.read, email.id), {
    status: 'scheduled',
    recipients: [{ status: 'scheduled' }],
  })
})

t.test('tags are an object by name, whatever the name', async (t) => {
  t.same(toTagObject(toJson([])), {})
  t.same(JSON.stringify(toTagObject(toJson([{ name: '__proto__', value: 'x' }]))), '{"__proto__":"x"}')
})

t.test('each way to settle leaves its records', async (t) => {
  const { database } = await temporaryDatabase(t)
  const home = await storeQueued(database, [
    'taken@b.test',
    'sent@b.test',
    'hard@b.test',
    'soft@b.test',
    'failed@b.test',
    'late@b.test',
  ])
  const { commit, attempted, email, id } = home
  const refused = { response: '550 5.1.1 no', reason: 'bad-mailbox' } as const
  await commit(settleDeferred(attempted('late@b.test', { response: '450 later', reason: 'greylisted' }), 9000, true))
  t.match(await email(), { status: 'queued', sent_at: null })
  await commit(settleBounced(attempted('hard@b.test', { ...refused, endedAt: 2600 }), true))
  t.match(await email(), { status: 'queued', bounced_at: 2600 })
  await commit(settleAccepted(attempted('sent@b.test'), false))
  await commit(settleAccepted(attempted('taken@b.test', { endedAt: 2700 }), true))
  await commit(settleBounced(attempted('soft@b.test', { ...refused, endedAt: 2800 }), false))
  await commit(settleFailed(attempted('failed@b.test', { reason: 'expired', response: 'nobody' })))
  t.match(
    await email(),
    { status: 'queued', sent_at: 2500, delivered_at: 2700, bounced_at: 2600 },
    'the first moment stays',
  )
  await commit(settleAccepted(attempted('late@b.test', { number: 2, endedAt: 9500 }), true))
  t.match(await email(), { status: 'delivered', sent_at: 2500, delivered_at: 2700 })
  t.same(await database.read('select 1 from queue', []), [])

  const rows = await database.read<Record<string, unknown>>(
    'select address, status, attempts, last_response, reason, mx, delivered_at, settled_at from recipients order by id',
    [],
  )
  t.same(
    rows.map((row) => Object.values(row)),
    [
      ['taken@b.test', 'delivered', 1, '250 ok', null, 'mx.b.test', 2700, 2700],
      ['sent@b.test', 'sent', 1, '250 ok', null, 'mx.b.test', null, 2500],
      ['hard@b.test', 'bounced', 1, '550 5.1.1 no', 'bad-mailbox', 'mx.b.test', null, 2600],
      ['soft@b.test', 'bounced', 1, '550 5.1.1 no', 'bad-mailbox', 'mx.b.test', null, 2800],
      ['failed@b.test', 'failed', 1, 'nobody', 'expired', 'mx.b.test', null, 2500],
      ['late@b.test', 'delivered', 2, '250 ok', null, 'mx.b.test', 9500, 9500],
    ],
  )
  const about = { email_id: id, from: 'app@a.test', subject: 'bulk', tags: { a: '1' } }
  t.same((await events(database, id)).slice(6, 8), [
    {
      type: 'email.deferred',
      recipient: 'late@b.test',
      data: {
        ...about,
        to: 'late@b.test',
        reason: 'greylisted',
        response: '450 later',
        attempts: 1,
        next_attempt_at: '1970-01-01T00:00:09.000Z',
      },
    },
    {
      type: 'email.bounced',
      recipient: 'hard@b.test',
      data: {
        ...about,
        to: 'hard@b.test',
        bounce_type: 'hard',
        bounce_subtype: 'bad-mailbox',
        bounce_reason: '550 5.1.1 no',
      },
    },
  ])
  t.same(
    ((await events(database, id)) as { type: string }[]).map(({ type }) => type.slice('email.'.length)),
    [
      ...Array(6).fill('queued'),
      ...['deferred', 'bounced', 'sent', 'sent', 'delivered', 'bounced', 'failed', 'sent', 'delivered'],
    ],
  )
  t.match((await detailsOfAnyWorkspace(database.read, id))?.recipients.at(-1)?.attempts, [
    { number: 1, outcome: 'deferred', duration_ms: 500, tls: 'TLSv1.3', next_attempt_at: '1970-01-01T00:00:09.000Z' },
    { number: 2, outcome: 'delivered', next_attempt_at: null },
  ])
})

t.test('a bounce never replaces a complaint', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { commit, attempted, email, id } = await storeQueued(database, ['one@b.test', 'two@b.test'])
  await commit(settleAccepted(attempted('one@b.test'), true))
  await commit([{ sql: `update emails set status = 'complained' where id = ?`, parameters: [id] }])
  await commit(settleBounced(attempted('two@b.test'), true))
  t.equal((await email())['status'], 'complained')
  t.equal((await detailsOfAnyWorkspace(database.read, id))?.status, 'complained')
})

t.test('only a reply counts as having reached a server', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { commit, attempted, id } = await storeQueued(database, ['one@b.test', 'two@b.test'])
  const reached = async (to: string): Promise<boolean> =>
    (await reachedAttempts(database.read, { emailId: id, recipientId: attempted(to).entry.id })).length > 0
  const unreachable = { response: 'connection refused', reason: 'connection-refused', reached: false } as const
  await commit(settleDeferred(attempted('one@b.test', unreachable), 3000, false))
  t.equal(await reached('one@b.test'), false, 'that an address was called does not')
  await commit(
    settleDeferred(attempted('one@b.test', { response: '451 4.3.0 later', reason: 'remote-error' }), 4000, false),
  )
  t.equal(await reached('one@b.test'), true)
  t.equal(await reached('two@b.test'), false, 'nor does the answer for another recipient')
})

t.test('the database rolls up as the function does', async (t) => {
  const { database } = await temporaryDatabase(t)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...statuses), { minLength: 1, maxLength: 5 }), async (drawn) => {
      const names = drawn.map((_, n) => `r${n}@b.test`)
      const { commit, attempted, email, id } = await storeQueued(database, [...names, 'last@b.test'])
      await commit(
        drawn.map((status, n) => ({
          sql: 'update recipients set status = ? where email_id = ? and address = ?',
          parameters: [status, id, `r${n}@b.test`],
        })),
      )
      await commit(settleFailed(attempted('last@b.test')))
      const expected = rollUp([...drawn, 'failed'])
      if ((await email())['status'] !== expected)
        throw new Error(`${String((await email())['status'])}, not ${expected}`)
    }),
    { numRuns: 60 },
  )
  t.pass('as asserted')
})

t.test('the events of an email are shown to its own workspace only', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { email, writes } = bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at: 1000 })
  await database.commit(writes)
  t.match(await readEmailDetails(database.read, { workspaceId: 'ws_1', id: email.id }), {
    id: email.id,
    status: 'queued',
  })
  t.equal(await readEmailDetails(database.read, { workspaceId: 'ws_2', id: email.id }), null)
  t.match(await detailsOfAnyWorkspace(database.read, email.id), { id: email.id })
  t.equal(await detailsOfAnyWorkspace(database.read, 'nothing'), null)
})
