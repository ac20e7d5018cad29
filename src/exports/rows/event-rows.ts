/**
 * `bounces` and `opens`: one row for each such event that entered the log in the range, in the order of the log. The
 * time in a row is that of the event itself, which is earlier where it was recorded late.
 *
 * Limit: with a domain, events whose email is no longer stored are left out.
 */
import { findLogRange, seqAtTime } from '../../events/event-times.js'
import type { EventPayloads } from '../../events/payloads.js'
import type { DomainName } from '../../mail/address.js'
import { prepareRead, type Read } from '../../storage/prepared.js'
import { type Json, parseJson } from '../../storage/tables/columns.js'
import type { EventsTable } from '../../storage/tables/email-tables.js'
import { type ExportRange, type ExportSource, formatTime, progressOf } from './export-source.js'

/** Events of a step. */
const STEP = 500

const eventsFrom = prepareRead<{ workspaceId: string; type: EventsTable['type']; from: number; before: number }>()(
  ({ db, slot }) =>
    db
      .selectFrom('events')
      .select(['seq', 'email_id', 'created_at', 'data'])
      .where('workspace_id', '=', slot('workspaceId'))
      .where('type', '=', slot('type'))
      .where('seq', '>=', slot('from'))
      .where('seq', '<', slot('before'))
      .orderBy('seq')
      .limit(STEP),
)

const senderDomainOf = prepareRead<{ emailId: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select('from_domain')
    .where('id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

type ExportedType = 'email.bounced' | 'email.opened'

interface EventTable {
  readonly type: ExportedType
  readonly columns: readonly string[]
  readonly formatRow: (event: LoggedEvent) => readonly string[]
}

type LoggedEvent = Pick<EventsTable, 'email_id' | 'created_at' | 'data'>

const bounces: EventTable = {
  type: 'email.bounced',
  columns: ['email_id', 'to', 'bounce_type', 'bounce_subtype', 'diagnostic_code', 'bounced_at'],
  formatRow: ({ data, created_at }) => {
    const { email_id, to, bounce_type, bounce_subtype, bounce_reason } = payloadOf<'email.bounced'>(data)
    return [email_id, to, bounce_type, bounce_subtype ?? '', bounce_reason, formatTime(created_at)]
  },
}

const opens: EventTable = {
  type: 'email.opened',
  columns: ['email_id', 'to', 'opened_at', 'user_agent', 'ip_address', 'machine'],
  formatRow: ({ data }) => {
    const { email_id, to, opened_at, user_agent, ip_address, machine } = payloadOf<'email.opened'>(data)
    return [email_id, to, opened_at, user_agent ?? '', ip_address ?? '', String(machine)]
  },
}

/** The writers of an event of this type wrote this payload. */
function payloadOf<Type extends ExportedType>(data: LoggedEvent['data']): EventPayloads[Type] {
  return parseJson(data as Json<EventPayloads[Type]>)
}

export function createBounceSource(read: Read, range: ExportRange): ExportSource {
  return createEventSource(read, range, bounces)
}

export function createOpenSource(read: Read, range: ExportRange): ExportSource {
  return createEventSource(read, range, opens)
}

function createEventSource(read: Read, range: ExportRange, { type, columns, formatRow }: EventTable): ExportSource {
  const { workspace_id: workspaceId, domain } = range
  const first = Math.max(findLogRange(read).first, seqAtTime(read, range.from_at))
  const end = seqAtTime(read, range.to_at)
  return {
    columns,
    readStep: (cursor) => {
      const from = cursor === null ? first : Number(cursor)
      const events = eventsFrom(read, { workspaceId, type, from, before: end })
      const next = (events[STEP - 1]?.seq ?? end - 1) + 1
      return {
        rows: formatEvents(read, { workspaceId, domain, events, formatRow }),
        cursor: events.length < STEP ? null : String(next),
        progress: progressOf(next, first, end),
      }
    },
  }
}

interface ChosenEvents extends Pick<EventTable, 'formatRow'> {
  readonly workspaceId: string
  readonly domain: DomainName | null
  readonly events: readonly LoggedEvent[]
}

function* formatEvents(
  read: Read,
  { workspaceId, domain, events, formatRow }: ChosenEvents,
): Generator<readonly string[], void> {
  for (const event of events) {
    if (domain === null || findSenderDomain(read, workspaceId, event) === domain) yield formatRow(event)
  }
}

function findSenderDomain(read: Read, workspaceId: string, { email_id: emailId }: LoggedEvent): DomainName | undefined {
  return emailId === null ? undefined : senderDomainOf(read, { emailId, workspaceId })[0]?.from_domain
}
