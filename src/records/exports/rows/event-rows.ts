/**
 * The rows of `bounces` and `opens`: one for each such event that entered the log in the range, in the order of the
 * log. A row has the time of the event itself, which is earlier if the event was recorded late.
 *
 * Limit: with a domain, events whose email is no longer stored are left out.
 */

import type { DomainName } from '../../../base/mail/address.js'
import { prepareRead, type Read, readTogether } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { EventsTable, EventType } from '../../../base/storage/tables/email-tables.js'
import { findSeqRange, isInTime } from '../../events/event-times.js'
import type { EventPayloads } from '../../events/payloads.js'
import { type ExportRange, type ExportSource, formatExportedTime, progressOf } from './export-source.js'

/** The events of a step. */
const STEP = 500
/** The events whose emails are read together. */
const GROUP = 50

/** The inner select reads only the index by type. With more columns SQLite would take the index of all types. */
const eventsFrom = prepareRead<{ workspaceId: string; type: EventsTable['type']; from: number; before: number }>()(
  ({ db, slot }) =>
    db
      .selectFrom('events')
      .select(['seq', 'email_id', 'created_at', 'data'])
      .where('workspace_id', '=', slot('workspaceId'))
      .where('seq', 'in', (eb) =>
        eb
          .selectFrom('events as ofType')
          .select('ofType.seq')
          .where('ofType.workspace_id', '=', slot('workspaceId'))
          .where('ofType.type', '=', slot('type'))
          .where('ofType.seq', '>=', slot('from'))
          .where('ofType.seq', '<', slot('before'))
          .orderBy('ofType.seq')
          .limit(STEP),
      )
      .orderBy('seq'),
)

const senderDomainOf = prepareRead<{ emailId: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select('from_domain')
    .where('id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

interface EventTable<Type extends EventType = EventType> {
  readonly type: Type
  /** The name of each column, and its field of the payload. `at` is the time of the event in the log. */
  readonly columns: Readonly<Record<string, keyof EventPayloads[Type] | 'at'>>
}

const bounces: EventTable<'email.bounced'> = {
  type: 'email.bounced',
  columns: {
    email_id: 'email_id',
    to: 'to',
    bounce_type: 'bounce_type',
    bounce_subtype: 'bounce_subtype',
    diagnostic_code: 'bounce_reason',
    bounced_at: 'at',
  },
}

const opens: EventTable<'email.opened'> = {
  type: 'email.opened',
  columns: {
    email_id: 'email_id',
    to: 'to',
    opened_at: 'opened_at',
    user_agent: 'user_agent',
    ip_address: 'ip_address',
    machine: 'machine',
  },
}

type LoggedEvent = Pick<EventsTable, 'email_id' | 'created_at' | 'data'>

function formatRow({ data, created_at }: LoggedEvent, fields: readonly string[]): readonly string[] {
  const payload = parseJson(data)
  return fields.map((field) => (field === 'at' ? formatExportedTime(created_at) : formatValue(payload[field])))
}

/** Formats a value. Empty for null, and for a value that an older version did not record. */
function formatValue(value: unknown): string {
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : ''
}

export async function createBounceSource(read: Read, range: ExportRange): Promise<ExportSource> {
  return createEventSource(read, range, bounces)
}

export async function createOpenSource(read: Read, range: ExportRange): Promise<ExportSource> {
  return createEventSource(read, range, opens)
}

async function createEventSource(
  read: Read,
  range: ExportRange,
  { type, columns }: Pick<EventTable, 'type'> & { readonly columns: Readonly<Record<string, string>> },
): Promise<ExportSource> {
  const { workspace_id: workspaceId, domain } = range
  const fields = Object.values(columns)
  const times = { from: range.from_at, to: range.to_at }
  const { first, end } = await findSeqRange(read, times)
  return {
    columns: Object.keys(columns),
    readStep: async (cursor) => {
      const from = cursor === null ? first : Number(cursor)
      const events = await eventsFrom(read, { workspaceId, type, from, before: end })
      const next = (events[STEP - 1]?.seq ?? end - 1) + 1
      return {
        rows: formatEvents(read, {
          ...{ workspaceId, domain, fields },
          events: events.filter((event) => isInTime(times, event)),
        }),
        cursor: events.length < STEP ? null : String(next),
        progress: progressOf(next, first, end),
      }
    },
  }
}

interface ChosenEvents {
  readonly fields: readonly string[]
  readonly workspaceId: string
  readonly domain: DomainName | null
  readonly events: readonly LoggedEvent[]
}

async function* formatEvents(
  read: Read,
  { workspaceId, domain, events, fields }: ChosenEvents,
): AsyncGenerator<readonly string[], void> {
  for (let at = 0; at < events.length; at += GROUP) {
    const group = events.slice(at, at + GROUP)
    const chosen = domain === null ? group : await chooseSentFrom(read, { workspaceId, domain, events: group })
    for (const event of chosen) yield formatRow(event, fields)
  }
}

/** Chooses the events whose email is from the domain. */
async function chooseSentFrom(
  read: Read,
  { workspaceId, domain, events }: Omit<ChosenEvents, 'fields'>,
): Promise<readonly LoggedEvent[]> {
  // No email has the empty id.
  const queries = events.map(({ email_id: emailId }) => senderDomainOf.with({ emailId: emailId ?? '', workspaceId }))
  const found = await readTogether(read, queries)
  return events.filter((_, place) => found[place]?.[0]?.from_domain === domain)
}
