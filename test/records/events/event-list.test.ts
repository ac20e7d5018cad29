/** Pages of the event log: every combination of filters against a simple model, and what each read walks over. */

import SQLite from 'better-sqlite3'
import fc from 'fast-check'
import t from 'tap'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { type EventFilter, type ListedEvent, listEvents } from '../../../src/records/events/event-list.js'
import { eventTypes } from '../../../src/records/events/payloads.js'
import { boundFault, recordReads } from '../../helpers/database/bounded-reads.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { buildEventWrite, numberEventsFrom, type StoredEvent } from '../../helpers/database/store-events.js'
import { plansOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'

/** The events of the model lie on both sides of the end of a block of the recipients' index. */
const BLOCK_SIZE = 131_072

type Full = Required<StoredEvent>

const recipients = ['bob@b.test', 'BOB@b.test', 'carol@b.test', null]
const types = ['email.queued', 'email.sent', 'email.opened', 'domain.failed', 'webhook.test'] as const
const emails = ['e1', 'e2', null]

const event = fc.record({
  workspaceId: fc.constantFrom('ws_1', 'ws_2'),
  type: fc.constantFrom(...types),
  emailId: fc.constantFrom(...emails),
  recipient: fc.constantFrom(...recipients),
  at: fc.nat({ max: 30 }),
})

const orders = fc.constantFrom('asc' as const, 'desc' as const)
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })

const filters: fc.Arbitrary<EventFilter> = fc.record({
  workspaceId: fc.constant('ws_1'),
  type: optional(fc.constantFrom('email.queued', 'email.sent', 'domain.failed')),
  types: optional(fc.subarray(['email.queued', 'email.opened', 'domain.failed'] as const)),
  emailId: optional(fc.constantFrom('e1', 'e2', 'e3')),
  recipient: optional(fc.constantFrom('bob@b.test', 'Carol@b.test', 'dave@b.test')),
  from: optional(fc.nat({ max: 30 })),
  to: optional(fc.nat({ max: 30 })),
})

async function readAll(
  read: Read,
  filter: EventFilter,
  order: 'asc' | 'desc',
  limit: number,
): Promise<readonly ListedEvent[]> {
  const all: ListedEvent[] = []
  for (;;) {
    const last = all.at(-1)?.seq
    const page = await listEvents(read, filter, {
      ...(order === 'asc' ? { after: last } : { before: last }),
      order,
      limit,
    })
    all.push(...page)
    if (page.length < limit) return all
  }
}

/** Positions of the events that match, newest first. */
function expected(events: readonly Full[], filter: EventFilter) {
  const { workspaceId, type, types, emailId, recipient, from = 0, to = 99 } = filter
  let time = 0
  return events
    .map((one, place) => {
      time = Math.max(time, one.at)
      return { ...one, at: time, place }
    })
    .filter(
      (one) =>
        one.workspaceId === workspaceId &&
        one.type !== 'webhook.test' &&
        (types?.some((any) => any === one.type) ?? (type ?? one.type) === one.type) &&
        (emailId ?? one.emailId) === one.emailId &&
        (recipient ?? one.recipient)?.toLowerCase() === one.recipient?.toLowerCase() &&
        one.at >= from &&
        one.at < to,
    )
    .map(({ place }) => place)
    .reverse()
}

t.test('every filter, alone and with others, at every size of a page', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit([buildEventWrite({ type: 'email.sent', at: 1 })])
  // An email belongs to one workspace.
  const owned = (one: Full): Full => ({ ...one, workspaceId: one.emailId === 'e2' ? 'ws_2' : one.workspaceId })
  const fixed = (one: Full): Full => ({ ...one, workspaceId: one.emailId === 'e1' ? 'ws_1' : one.workspaceId })
  const model = fc.array(event, { maxLength: 60 }).map((list) => list.map(owned).map(fixed))
  await fc.assert(
    fc.asyncProperty(model, filters, orders, fc.integer({ min: 1, max: 7 }), async (events, filter, order, limit) => {
      await commit([
        { sql: 'delete from events', parameters: [] },
        numberEventsFrom(BLOCK_SIZE - 30),
        // They come after the others, in this order.
        ...events.map(buildEventWrite).map(({ sql, parameters }) => ({ sql, parameters })),
      ])
      const first = (await read<{ seq: number }>('select min(seq) as seq from events', []))[0]?.seq ?? 0
      const found = (await readAll(read, filter, order, limit)).map(({ seq }) => seq - first)
      const newestFirst = expected(events, filter)
      const wanted = order === 'desc' ? newestFirst : newestFirst.reverse()
      if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${found.join()} is not ${wanted.join()}`)
    }),
    { numRuns: 300 },
  )
})

t.test('a step passes over events of other recipients of an email, and ends', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const many = Array.from({ length: 600 }, (_, at) =>
    buildEventWrite({ type: 'email.opened', emailId: 'e1', recipient: at === 7 ? 'bob@b.test' : 'carol@b.test', at }),
  )
  await commit(many)
  const filter = { workspaceId: 'ws_1', emailId: 'e1', recipient: 'bob@b.test' }
  t.match(await listEvents(read, filter, { limit: 5 }), [{ seq: 8 }])
  t.match(await listEvents(read, filter, { order: 'asc', limit: 5 }), [{ seq: 8 }])
})

t.test('no read passes over events that it does not return', { skip: skipOnPostgres(plansOfSqlite) }, async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit(eventTypes.map((type, at) => buildEventWrite({ type, emailId: 'e1', recipient: 'bob@b.test', at })))
  const db = new SQLite(file, { readonly: true })
  t.teardown(() => db.close())
  const choices = {
    type: ['email.sent', undefined],
    emailId: ['e1', undefined],
    recipient: ['bob@b.test', undefined],
    from: [1, undefined],
    to: [9, undefined],
  } as const
  const plans = new Set<string>()
  for (const type of choices.type) {
    for (const emailId of choices.emailId) {
      for (const recipient of choices.recipient) {
        for (const from of choices.from) {
          for (const to of choices.to) {
            const filter = { workspaceId: 'ws_1', type, emailId, recipient, from, to }
            const reads = await recordReads(async () => {
              await listEvents(read, filter, { before: 12, limit: 51 })
              await listEvents(read, filter, { after: 3, order: 'asc', limit: 51 })
            })
            t.ok(reads.length > 0)
            for (const one of reads) {
              t.equal(boundFault(db, one), null)
              const rows = db.prepare<unknown[], { detail: string }>(`explain query plan ${one.sql}`)
              for (const { detail } of rows.all(...one.parameters)) plans.add(detail)
            }
          }
        }
      }
    }
  }
  const along = (index: string, bound: string): string =>
    `SEARCH events USING ${index} (${bound} AND rowid>? AND rowid<?)`
  t.same([...plans].sort(), [
    along('COVERING INDEX events_by_type', 'workspace_id=? AND type=?'),
    along('COVERING INDEX events_of_email', 'email_id=? AND type=?'),
    along('COVERING INDEX events_of_recipient', '<expr>=? AND workspace_id=? AND recipient=? AND type=?'),
    'SEARCH events USING COVERING INDEX events_of_recipient (<expr>=? AND workspace_id=? AND recipient=?)',
    along('INDEX events_of_email', 'email_id=? AND type=?'),
    'SEARCH events USING INDEX events_of_email (email_id=?)',
    'SEARCH events USING INTEGER PRIMARY KEY (rowid<?)',
    'SEARCH events USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH events USING INTEGER PRIMARY KEY (rowid>?)',
  ])
})
