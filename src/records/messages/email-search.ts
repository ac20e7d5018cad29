/**
 * Searches the emails of a workspace for people: newest or oldest first, in pages, limited by any of the filters.
 *
 * Only the status (`status-filter.ts`), the broadcast and the time are in an index. The other filters are compared row
 * by row (`email-comparison.ts`), in steps (`base/storage/db/stepped-walk.ts`), and a request compares at most
 * MAX_COMPARED rows. A page may then have fewer emails than were requested, and says how far it has come, where the next
 * page continues. A complete address is found along an index, of whatever age (`emails-to-address.ts`).
 *
 * Texts are compared without regard to the case of ASCII letters.
 */
import type { Read } from '../../base/storage/db/prepared.js'
import { THREAD_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { Order } from '../events/recipient-events.js'
import { emailById } from './email/email.js'
import { type EmailSearch, endOfStep, type FoundEmail, type Place, rowsOfStep } from './email-comparison.js'

interface PageRequest {
  /** The page begins after this email. Undefined starts from the first in the order. */
  readonly after: string | undefined
  /** The order of time. Default: `desc`, newest first. */
  readonly order?: Order
  readonly limit: number
}

interface SearchPage {
  readonly emails: readonly FoundEmail[]
  /** The email after which the next page begins. Null if there is nothing more. */
  readonly next: Place | null
}

/** The most rows that one request compares, in about 50 ms. */
const MAX_COMPARED = 25_000

export async function searchEmails(
  read: Read,
  search: EmailSearch,
  { after, order = 'desc', limit }: PageRequest,
): Promise<SearchPage> {
  const emails: FoundEmail[] = []
  let place = await findStart(read, search, order, after)
  for (let compared = 0; compared < MAX_COMPARED; compared += THREAD_STEP) {
    if (compared > 0) await waitForStep()
    const { found, end } = await readStep(read, search, { place, order, limit: limit + 1 - emails.length })
    emails.push(...found)
    const last = emails[limit - 1]
    if (emails.length > limit && last !== undefined) {
      return { emails: emails.slice(0, limit), next: { createdAt: last.created_at, id: last.id } }
    }
    if (end === null) return { emails, next: null }
    place = end
  }
  return { emails, next: place }
}

/** Finds the place of an email. An email that is gone was created when its id was made. */
async function findStart(
  read: Read,
  { workspaceId, from, to }: EmailSearch,
  order: Order,
  after: string | undefined,
): Promise<Place> {
  const first = { createdAt: (order === 'desc' ? to : from) ?? (order === 'desc' ? NEWEST : 0), id: '' }
  if (after === undefined) return first
  const createdAt = (await emailById(read, { workspaceId, id: after }))[0]?.created_at ?? timeOfId(after)
  const isInside = order === 'desc' ? createdAt < first.createdAt : createdAt >= first.createdAt
  return isInside ? { createdAt, id: after } : first
}

/** A time after all others. */
const NEWEST = Number.MAX_SAFE_INTEGER
/** It is greater than the id of any email. */
const LAST_ID = 'g'

function timeOfId(id: string): number {
  const uuid = id.replace('bc-', '')
  return Number.parseInt(`${uuid.slice(0, 8)}${uuid.slice(9, 13)}`, 16)
}

interface Step {
  readonly found: readonly FoundEmail[]
  /** The last row that was compared. Null if it was the last of all. */
  readonly end: Place | null
}

interface StepRequest {
  readonly place: Place
  readonly order: Order
  readonly limit: number
}

async function readStep(read: Read, search: EmailSearch, { place, order, limit }: StepRequest): Promise<Step> {
  const skipping = { ...search, ...place, from: search.from ?? 0, to: search.to ?? NEWEST }
  const [end = null] = await endOfStep[order](read, skipping)
  const last = order === 'desc' ? { createdAt: skipping.from, id: '' } : { createdAt: skipping.to - 1, id: LAST_ID }
  const { createdAt: endAt, id: endId } = end ?? last
  return { found: await rowsOfStep[order](read, { ...skipping, endAt, endId, limit }), end }
}
