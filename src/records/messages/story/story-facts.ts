/** Reads what the story of an email needs besides its record: events of its readers, and the suppression list. */
import { tryParseForeignAddress } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { type JsonObject, parseJson } from '../../../base/storage/tables/columns.js'
import type { SuppressionReason } from '../../../base/storage/tables/content-tables.js'
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import { listEvents } from '../../events/event-list.js'
import { findSuppression } from '../../suppressions/suppressions.js'
import type { EmailDetails } from '../email-details.js'

export interface StoryEvent {
  readonly type: EventType
  readonly recipient: string
  readonly at: string
  readonly data: JsonObject
}

export interface KnownSuppression {
  readonly id: string
  readonly email: string
  readonly reason: SuppressionReason
  /** The email that was the cause. Null if none was. */
  readonly emailId: string | null
  readonly at: string
}

export interface StoryFacts {
  /** Oldest first within a type. */
  readonly events: readonly StoryEvent[]
  /** The entries by address in lower case. Null if the list was not read. */
  readonly suppressions: ReadonlyMap<string, KnownSuppression> | null
}

/** A story with these is told from the record alone. */
export const noFacts: StoryFacts = { events: [], suppressions: null }

/** The types of events that attempts do not tell. */
const storyTypes = [
  'email.suppressed',
  'email.bounced',
  'email.failed',
  'email.delivered',
  'email.opened',
  'email.clicked',
  'email.complained',
  'email.unsubscribed',
] as const satisfies readonly EventType[]

/** The most events of one type that a story tells. */
export const MAX_EVENTS = 100
/** Addresses that are looked up between two turns of the event loop. */
const ADDRESS_STEP = 100

export async function readStoryFacts(read: Read, workspaceId: string, email: EmailDetails): Promise<StoryFacts> {
  const events: StoryEvent[] = []
  for (const type of storyTypes) {
    const filter = { workspaceId, emailId: email.id, type }
    const found = await listEvents(read, filter, { order: 'asc', limit: MAX_EVENTS })
    events.push(
      ...found.map(({ created_at, recipient, data }) => ({
        ...{ type, recipient: recipient ?? '', at: formatTimestamp(created_at), data: parseJson(data) },
      })),
    )
  }
  return { events, suppressions: await readSuppressions(read, workspaceId, email) }
}

async function readSuppressions(
  read: Read,
  workspaceId: string,
  { recipients }: EmailDetails,
): Promise<StoryFacts['suppressions']> {
  const found = new Map<string, KnownSuppression>()
  for (const [place, { email: address }] of recipients.entries()) {
    if (place > 0 && place % ADDRESS_STEP === 0) await waitForStep()
    const parsed = tryParseForeignAddress(address)
    const entry = parsed === null ? undefined : await findSuppression(read, workspaceId, parsed)
    if (entry === undefined) continue
    const { id, email, reason, source_email_id: emailId, created_at } = entry
    found.set(address.toLowerCase(), { id, email, reason, emailId, at: formatTimestamp(created_at) })
  }
  return found
}
