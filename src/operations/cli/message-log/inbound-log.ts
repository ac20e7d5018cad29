/** The life of one inbound message as entries: accepted, authenticated, scored, filed, announced, answered. */

import { formatTimestamp } from '../../../base/platform/clock.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP } from '../../../base/storage/db/stepped-walk.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { findSeqRange } from '../../../records/events/event-times.js'
import { hasInboundRaw, parseArrival } from '../../../records/messages/inbound/inbound-email.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import type { ShowProgress } from '../command/progress.js'
import { sentAnswers } from './answers.js'
import { auditEntries } from './audit-entries.js'
import { entryOf, joinParts, type LogEntry, sortEntries } from './log-entry.js'
import { webhookEntries } from './webhook-entries.js'

/** `keptFor` is the number of milliseconds that bytes are kept. */
export async function readInboundLog(
  read: Read,
  inbound: InboundEmail,
  { keptFor, showProgress }: { readonly keptFor: number; readonly showProgress: ShowProgress },
): Promise<readonly LogEntry[]> {
  const { id, workspace_id: workspaceId, received_at: since } = inbound
  const events = await announcements(read, inbound)
  return sortEntries([
    describeAcceptance(inbound),
    describeAuthentication(inbound),
    ...processingEntries(inbound),
    ...events.map((event) =>
      entryOf(event.created_at, 'announced', event.type, { event_id: event.id, type: event.type }),
    ),
    ...(await webhookEntries(read, workspaceId, events)),
    ...(await auditEntries(read, { workspaceId, ids: new Set([id]), since })),
    ...(await sentAnswers(read, inbound, showProgress)),
    await describeBytes(read, inbound, keptFor),
  ])
}

function describeAcceptance(inbound: InboundEmail): LogEntry {
  const { received_at, client_address, helo, envelope_from, size, message_id } = inbound
  const to: readonly string[] = parseJson(inbound.envelope_to)
  const { earlyTalker, listings } = parseArrival(inbound)
  const text = joinParts(
    `from [${client_address}] as ${helo}`,
    `<${envelope_from}> to ${to.join(' ')}`,
    `${size} bytes`,
    earlyTalker ? 'spoke before the greeting' : null,
    listings.length === 0 ? null : `listed by ${listings.map(({ zone }) => zone).join(' ')}`,
  )
  const details = {
    client: client_address,
    helo,
    envelope_from,
    to,
    size,
    message_id,
    listings,
    early_talker: earlyTalker,
  }
  return entryOf(received_at, 'accepted', text, { workspace_id: inbound.workspace_id, ...details })
}

function describeAuthentication(inbound: InboundEmail): LogEntry {
  const results = parseJson(inbound.authentication)
  const { spf, dkim, dmarc, arc, iprev } = results
  const signers = dkim?.map(({ result, domain }) => `${result} (${domain})`).join(' ')
  const text = joinParts(
    `SPF ${spf?.result ?? inbound.spf_result}`,
    `DKIM ${signers === undefined || signers === '' ? inbound.dkim_result : signers}`,
    `DMARC ${dmarc?.result ?? inbound.dmarc_result}`,
    arc === undefined ? null : `ARC ${arc.result}`,
    iprev === undefined ? null : `iprev ${iprev.result}`,
  )
  return entryOf(inbound.received_at, 'authenticated', text, { results })
}

function processingEntries(inbound: InboundEmail): LogEntry[] {
  const { status, processed_at: at, spam_status, spam_score, attachment_count, subject } = inbound
  if (status === 'received') return [entryOf(null, 'now', 'it waits to be read', { status })]
  if (status === 'failed') return [entryOf(at, 'filed', 'as failed: the message could not be read', { status })]
  const report = parseJson(inbound.spam_report)
  const points = spam_score === null ? null : spam_score / 100
  const parts = report.map(({ name, score }) => `${name} ${score}`).join(', ')
  const scored = points === null ? 'not scored' : `${points} points, ${spam_status}${parts === '' ? '' : `: ${parts}`}`
  const files = attachment_count === 0 ? null : `${attachment_count} attachments`
  return [
    entryOf(at, 'scored', scored, { spam_status, spam_score: points, spam_report: report }),
    entryOf(at, 'filed', joinParts(`"${subject}" from ${inbound.from_email}`, files), { status, subject }),
  ]
}

interface EventRange {
  readonly workspaceId: string
  readonly from: number
  readonly limit: number
}

/** Steps in which the event of a message is searched. */
const MAX_STEPS = 10

const receivedEvents = prepareRead<EventRange>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'id', 'type', 'created_at', 'data'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('type', '=', 'email.received')
    .where('seq', '>=', slot('from'))
    .orderBy('seq')
    .limit(slot('limit')),
)

type ReceivedEvent = Awaited<ReturnType<typeof receivedEvents>>[number]

/** The event of its processing, which is among the first of that time. */
async function announcements(
  read: Read,
  { id, workspace_id: workspaceId, processed_at }: InboundEmail,
): Promise<ReceivedEvent[]> {
  if (processed_at === null) return []
  const { first: from } = await findSeqRange(read, { from: processed_at })
  const asJson = `"inbound_email_id":${JSON.stringify(id)}`
  let next = from
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const events = await receivedEvents(read, { workspaceId, from: next, limit: ROW_STEP })
    const found = events.filter(({ data }) => data.includes(asJson))
    const last = events[ROW_STEP - 1]
    if (found.length > 0 || last === undefined) return found
    next = last.seq + 1
  }
  return []
}

async function describeBytes(read: Read, inbound: InboundEmail, keptFor: number): Promise<LogEntry> {
  const { id, workspace_id: workspaceId, received_at, size } = inbound
  const stored = await hasInboundRaw(read, { id, workspaceId })
  const until = formatTimestamp(received_at + keptFor)
  const text = stored
    ? `the ${size} bytes of the message are kept until ${until}`
    : `the bytes of the message were removed: retention.messages ended at ${until}`
  return entryOf(null, 'bytes', text, { stored, kept_until: until })
}
