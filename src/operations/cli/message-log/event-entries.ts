/** Events of a message that no attempt tells of: opens, clicks, complaints, unsubscriptions, bounces that came back. */

import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { type JsonObject, parseJson } from '../../../base/storage/tables/columns.js'
import type { Email } from '../../../records/messages/email/email.js'
import { entryOf, joinParts, type LogEntry } from './log-entry.js'

/** Events of one message that are shown. */
const MAX_EVENTS = 1_000

const eventsOfEmail = prepareRead<{ emailId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'id', 'workspace_id', 'type', 'recipient', 'created_at', 'data'])
    .where('email_id', '=', slot('emailId'))
    .limit(slot('limit')),
)

type LoggedEvent = Awaited<ReturnType<typeof eventsOfEmail>>[number]

/** Reads the events of these recipients, oldest first. */
export async function eventsOfMessage(
  read: Read,
  { id: emailId, workspace_id: workspaceId }: Email,
  recipients: ReadonlySet<string>,
): Promise<readonly LoggedEvent[]> {
  return (await eventsOfEmail(read, { emailId, limit: MAX_EVENTS }))
    .filter(
      ({ workspace_id, recipient }) =>
        workspace_id === workspaceId && (recipient === null || recipients.has(recipient)),
    )
    .sort((one, other) => one.seq - other.seq)
}

/** Words of the log for types of events; others are told by what caused them. */
const words: Readonly<Record<string, string>> = {
  'email.opened': 'opened',
  'email.clicked': 'clicked',
  'email.complained': 'complaint',
  'email.unsubscribed': 'unsubscribed',
  'email.bounced': 'bounced',
  'email.failed': 'failed',
  'email.delivered': 'delivered',
}

/** Outcomes of attempts are left out: `outcomes` has the times at which attempts ended. */
export function eventEntries(events: readonly LoggedEvent[], outcomes: ReadonlySet<number>): readonly LogEntry[] {
  return events.flatMap((event) => {
    const word = words[event.type]
    if (word === undefined || outcomes.has(event.created_at)) return []
    const data = parseJson(event.data)
    return [entryOf(event.created_at, word, describeEvent(event, data), { event_id: event.id, type: event.type, data })]
  })
}

function describeEvent({ recipient }: LoggedEvent, data: JsonObject): string {
  const textOf = (name: string): string | null => (typeof data[name] === 'string' ? data[name] : null)
  return joinParts(
    recipient,
    textOf('url'),
    textOf('feedback_type'),
    textOf('bounce_type'),
    textOf('bounce_reason') ?? textOf('response'),
    textOf('ip_address'),
    textOf('user_agent'),
    data['machine'] === true ? 'by a machine' : null,
  )
}
