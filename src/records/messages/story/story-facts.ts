/** Reads what the story of an email needs besides its record: events of its readers, and the suppression list. */
import { tryParseForeignAddress } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { type JsonObject, parseJson } from '../../../base/storage/tables/columns.js'
import type { SuppressionReason } from '../../../base/storage/tables/content-tables.js'
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import { listEvents } from '../../events/event-list.js'
import { lastRemovalOf } from '../../suppressions/suppression-removals.js'
import { findSuppression, suppressionReasons } from '../../suppressions/suppressions.js'
import type { EmailDetails, RecipientDetails } from '../email-details.js'

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

/** The last time when an address was taken off the suppression list. */
export interface SuppressionRemoval {
  readonly reason: SuppressionReason
  readonly at: string
}

export interface StoryFacts {
  /** Oldest first within a type. */
  readonly events: readonly StoryEvent[]
  /** The entries by address in lower case. Null if the list was not read. */
  readonly suppressions: ReadonlyMap<string, KnownSuppression> | null
  /** The keys are addresses in lower case that have no entry now. */
  readonly removals: ReadonlyMap<string, SuppressionRemoval>
}

/** A story with these is told from the record alone. */
export const noFacts: StoryFacts = { events: [], suppressions: null, removals: new Map() }

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
  const suppressions = await readSuppressions(read, workspaceId, email)
  const isComplaint = ({ type }: StoryEvent): boolean => type === 'email.complained'
  const complained = new Set(events.filter(isComplaint).map(({ recipient }) => recipient.toLowerCase()))
  const left = email.recipients
    .filter(({ status, email: address }) => isSuppressing(status) || complained.has(address.toLowerCase()))
    .map(({ email: address }) => address.toLowerCase())
    .filter((address) => !suppressions.has(address))
  return { events, suppressions, removals: await readRemovals(read, workspaceId, left) }
}

/** Tells whether an address may have been on the list because of a status, or has this status because of the list. */
function isSuppressing(status: RecipientDetails['status']): boolean {
  return status === 'bounced' || status === 'suppressed'
}

async function readRemovals(
  read: Read,
  workspaceId: string,
  addresses: readonly string[],
): Promise<StoryFacts['removals']> {
  const found = new Map<string, SuppressionRemoval>()
  for (const [place, email] of addresses.entries()) {
    if (place > 0 && place % ADDRESS_STEP === 0) await waitForStep()
    const [removal] = await lastRemovalOf(read, { workspaceId, email })
    const reason = suppressionReasons.find((known) => known === removal?.reason)
    if (removal !== undefined && reason !== undefined) found.set(email, { reason, at: formatTimestamp(removal.at) })
  }
  return found
}

async function readSuppressions(
  read: Read,
  workspaceId: string,
  { recipients }: EmailDetails,
): Promise<ReadonlyMap<string, KnownSuppression>> {
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
