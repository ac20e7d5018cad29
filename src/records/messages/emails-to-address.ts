/**
 * Finds all emails to one complete address, those of broadcasts too, newest or oldest first, in pages.
 *
 * Events have an index of recipients, so emails of any age are found as long as their events are kept, which is longer
 * than the emails. Each email to the address stands at its first event, which is that of its acceptance. Messages of
 * broadcasts have no such event: theirs is that of the first attempt, so one that was not attempted yet is not found.
 */
import type { Address } from '../../base/mail/address.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { EventType } from '../../base/storage/tables/email-tables.js'
import { type ListedEvent, listEvents } from '../events/event-list.js'
import type { Order } from '../events/recipient-events.js'
import { type EmailSearch, type FoundEmail, soughtEmail } from './email-comparison.js'

interface PageRequest {
  /** The `seq` of an event. Null starts from the first in the order. */
  readonly after: number | null
  readonly order: Order
  readonly limit: number
}

interface AddressPage {
  readonly emails: readonly FoundEmail[]
  /** The event after which the next page begins. Null if there is nothing more. */
  readonly next: number | null
}

/** Each email to an address has an event of one of these types, messages of broadcasts after their first attempt. */
const types: readonly EventType[] = [
  ...(['email.queued', 'email.suppressed', 'email.sent'] as const),
  ...(['email.delivered', 'email.deferred', 'email.bounced', 'email.failed'] as const),
]

/** Events that are read at once. */
const EVENT_STEP = 50
/** The most events that one request reads. */
const MAX_EVENTS = 500

export async function findEmailsTo(
  read: Read,
  recipient: Address,
  search: EmailSearch,
  { after, order, limit }: PageRequest,
): Promise<AddressPage> {
  const { workspaceId, from, to } = search
  const filter = { workspaceId, recipient, types, ...(from === null ? {} : { from }), ...(to === null ? {} : { to }) }
  const emails: FoundEmail[] = []
  let place = after
  for (let seen = 0; seen < MAX_EVENTS; seen += EVENT_STEP) {
    if (seen > 0) await waitForStep()
    const behind = place === null ? {} : order === 'desc' ? { before: place } : { after: place }
    const events = await listEvents(read, filter, { ...behind, order, limit: EVENT_STEP })
    for (const event of events) {
      const found = await readSought(read, search, recipient, event)
      // One email more than the page has says that there is a next page.
      if (found !== undefined && emails.length === limit) return { emails, next: place }
      if (found !== undefined) emails.push(found)
      place = event.seq
    }
    if (events.length < EVENT_STEP) return { emails, next: null }
  }
  return { emails, next: place }
}

/** Returns the email of an event if it is sought, and if this is the first event of the email for the recipient. */
async function readSought(
  read: Read,
  search: EmailSearch,
  recipient: Address,
  event: ListedEvent,
): Promise<FoundEmail | undefined> {
  const { email_id: id } = event
  if (id === null || !(await isFirst(read, search.workspaceId, recipient, { ...event, email_id: id }))) return undefined
  return (await soughtEmail(read, { ...search, id }))[0]
}

async function isFirst(
  read: Read,
  workspaceId: string,
  recipient: Address,
  { type, seq, email_id: emailId }: ListedEvent & { readonly email_id: string },
): Promise<boolean> {
  if (type === 'email.queued') return true
  if (emailId.startsWith('bc-')) {
    const [first] = await listEvents(read, { workspaceId, emailId, types }, { order: 'asc', limit: 1 })
    return first === undefined || first.seq === seq
  }
  // An address may come onto the suppression list while the email waits, which is then in the list by its acceptance.
  if (type !== 'email.suppressed') return false
  const accepted = { workspaceId, emailId, recipient, type: 'email.queued' } as const
  return (await listEvents(read, accepted, { limit: 1 })).length === 0
}
