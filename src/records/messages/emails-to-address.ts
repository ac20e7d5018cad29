/**
 * Finds all emails to one complete address, those of broadcasts too, newest or oldest first, in pages.
 *
 * Events have an index of recipients, so emails of any age are found as long as their events are kept, which is longer
 * than the emails. Each email to the address stands at its first event, which is that of its acceptance. Messages of
 * broadcasts have no such event: theirs is that of the first attempt, so one that was not attempted yet is not found.
 */
import type { Address } from '../../base/mail/address.js'
import { equalsIgnoringCase, isInJsonList } from '../../base/storage/db/dialect.js'
import { prepareLongRead, prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import { type Json, toJson } from '../../base/storage/tables/columns.js'
import type { EventType } from '../../base/storage/tables/email-tables.js'
import { type ListedEvent, listEvents } from '../events/event-list.js'
import type { Order } from '../events/recipient-events.js'
import { type EmailSearch, type FoundEmail, soughtEmails } from './email-comparison.js'

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
    const sought = await readSought(read, search, recipient, events)
    for (const event of events) {
      const found = sought.get(event.seq)
      // One email more than the page has says that there is a next page.
      if (found !== undefined && emails.length === limit) return { emails, next: place }
      if (found !== undefined) emails.push(found)
      place = event.seq
    }
    if (events.length < EVENT_STEP) return { emails, next: null }
  }
  return { emails, next: place }
}

type EmailEvent = ListedEvent & { readonly email_id: string }

/** The sought emails of a step, by the event at which each stands. */
async function readSought(
  read: Read,
  search: EmailSearch,
  recipient: Address,
  events: readonly ListedEvent[],
): Promise<ReadonlyMap<number, FoundEmail>> {
  const firsts = await listFirsts(read, recipient, events.filter(isOfEmail))
  if (firsts.length === 0) return new Map()
  const emails = new Map((await soughtEmails(read, { ...search, ids: listIds(firsts) })).map((one) => [one.id, one]))
  return new Map(
    firsts.flatMap(({ seq, email_id: id }) => {
      const email = emails.get(id)
      return email === undefined ? [] : [[seq, email] as const]
    }),
  )
}

function isOfEmail(event: ListedEvent): event is EmailEvent {
  return event.email_id !== null
}

/** Those events that are the first one of their email for the recipient. */
async function listFirsts(
  read: Read,
  recipient: Address,
  events: readonly EmailEvent[],
): Promise<readonly EmailEvent[]> {
  const ofBroadcasts = events.filter((event) => isOfBroadcast(event))
  // An address may come onto the suppression list while the email waits, which is then in the list by its acceptance.
  const suppressed = events.filter((event) => event.type === 'email.suppressed' && !isOfBroadcast(event))
  const firsts = ofBroadcasts.length === 0 ? [] : await firstOfEach(read, { ids: listIds(ofBroadcasts) })
  const accepted = suppressed.length === 0 ? [] : await acceptedOfEach(read, { ids: listIds(suppressed), recipient })
  const seqs = new Set(firsts.map(({ seq }) => seq))
  const acceptedIds = new Set(accepted.map(({ email_id: id }) => id))
  return events.filter((event) => {
    if (event.type === 'email.queued') return true
    if (isOfBroadcast(event)) return seqs.has(event.seq)
    return event.type === 'email.suppressed' && !acceptedIds.has(event.email_id)
  })
}

function isOfBroadcast({ email_id: id }: EmailEvent): boolean {
  return id.startsWith('bc-')
}

function listIds(events: readonly EmailEvent[]): Json<readonly string[]> {
  return toJson([...new Set(events.map(({ email_id: id }) => id))])
}

const firstOfEach = prepareRead<{ ids: Json<readonly string[]> }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(({ fn }) => ['email_id', fn.min<number>('seq').as('seq')])
    .where(isInJsonList('email_id', slot('ids')))
    .where('type', 'in', types)
    .groupBy('email_id'),
)

/** It runs on a thread, because each email may have a thousand recipients. */
const acceptedOfEach = prepareLongRead<{ ids: Json<readonly string[]>; recipient: Address }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select('email_id')
    .where(isInJsonList('email_id', slot('ids')))
    .where('type', '=', 'email.queued')
    .where(equalsIgnoringCase('recipient', slot('recipient'))),
)
