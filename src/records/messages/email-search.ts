/**
 * Searches the emails of a workspace for people: newest first, in pages, limited by any of the filters.
 *
 * Only the status (`status-filter.ts`), the broadcast and the time are in an index. The other filters are compared row
 * by row, in steps (`base/storage/db/stepped-walk.ts`), and a request compares at most MAX_COMPARED rows. A page may
 * then have fewer emails than were requested, and says how far it has come, where the next page continues.
 *
 * Texts are compared without regard to the case of ASCII letters.
 */
import { type RawBuilder, sql } from 'kysely'
import { containsIgnoringCase, hasNamedValue, textOf } from '../../base/storage/db/dialect.js'
import { prepareLongRead, type Read } from '../../base/storage/db/prepared.js'
import { THREAD_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { EmailStatus } from '../../base/storage/tables/email-tables.js'
import { type Email, emailById } from './email/email.js'
import { recipientCountColumns } from './email/recipient-counts.js'
import { prepareFilteredRead } from './email/status-filter.js'

const columns = [
  'id',
  'from_email',
  'from_name',
  'to_emails',
  'cc_emails',
  'bcc_emails',
  'subject',
  'tags',
  'status',
  'created_at',
  'scheduled_for',
  'opened_at',
  'clicked_at',
  ...recipientCountColumns,
] as const satisfies readonly (keyof Email)[]

export type FoundEmail = Pick<Email, (typeof columns)[number]>

/** Null fields match any email. */
export interface EmailSearch {
  readonly workspaceId: string
  readonly status: EmailStatus | null
  /** Null for the emails that belong to no broadcast. */
  readonly broadcastId: string | null
  /** The domain of the sender. */
  readonly domain: string | null
  readonly tagName: string | null
  readonly tagValue: string | null
  /** A part of the address of a recipient. */
  readonly recipient: string | null
  /** A part of the subject. */
  readonly subject: string | null
  /** A part of the address of a recipient, of the subject or of the Message-ID. */
  readonly text: string | null
  /** The email is from this time or later. */
  readonly from: number | null
  /** The email is from before this time. */
  readonly to: number | null
}

interface PageRequest {
  /** The page begins after this email. Undefined starts from the newest. */
  readonly after: string | undefined
  readonly limit: number
}

interface SearchPage {
  readonly emails: readonly FoundEmail[]
  /** The email after which the next page begins. Null if there is nothing more. */
  readonly next: Place | null
}

/** A place in the order of the index. The list continues below it. */
interface Place {
  readonly createdAt: number
  readonly id: string
}

/** The most rows that one request compares, in about 50 ms. */
const MAX_COMPARED = 25_000

export async function searchEmails(
  read: Read,
  search: EmailSearch,
  { after, limit }: PageRequest,
): Promise<SearchPage> {
  const emails: FoundEmail[] = []
  let place = await findStart(read, search, after)
  for (let compared = 0; compared < MAX_COMPARED; compared += THREAD_STEP) {
    if (compared > 0) await waitForStep()
    const { found, end } = await readStep(read, search, place, limit + 1 - emails.length)
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
async function findStart(read: Read, { workspaceId, to }: EmailSearch, after: string | undefined): Promise<Place> {
  const top = { createdAt: to ?? Number.MAX_SAFE_INTEGER, id: '' }
  if (after === undefined) return top
  const createdAt = (await emailById(read, { workspaceId, id: after }))[0]?.created_at ?? timeOfId(after)
  return createdAt < top.createdAt ? { createdAt, id: after } : top
}

function timeOfId(uuid: string): number {
  return Number.parseInt(`${uuid.slice(0, 8)}${uuid.slice(9, 13)}`, 16)
}

interface Step {
  readonly found: readonly FoundEmail[]
  /** The last row that was compared. Null if it was the last of all. */
  readonly end: Place | null
}

async function readStep(read: Read, search: EmailSearch, place: Place, limit: number): Promise<Step> {
  const skipping = { ...search, ...place, from: search.from ?? 0 }
  const [end = null] = await endOfStep(read, skipping)
  const comparing = { ...skipping, endAt: end?.createdAt ?? skipping.from, endId: end?.id ?? '', limit }
  return { found: await rowsOfStep(read, comparing), end }
}

function hasRecipient(part: unknown): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from recipients where recipients.email_id = emails.id and
    ${containsIgnoringCase('recipients.address', part)})`
}

type SkipValues = Omit<EmailSearch, 'status'> & Place & { readonly from: number }
type CompareValues = SkipValues & { readonly endAt: number; readonly endId: string; readonly limit: number }

const endOfStep = prepareFilteredRead<SkipValues>(prepareLongRead)(({ db, slot }, condition) =>
  db
    .selectFrom('emails')
    .select(['id', 'created_at as createdAt'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where(condition)
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(slot('createdAt'), slot('id'))))
    .where('created_at', '>=', slot('from'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .offset(THREAD_STEP - 1),
)

const rowsOfStep = prepareFilteredRead<CompareValues>(prepareLongRead)(({ db, slot }, condition) => {
  const hasTag = hasNamedValue('emails.tags', slot('tagName'), slot('tagValue'))
  const [domain, subject, recipient] = [textOf(slot('domain')), textOf(slot('subject')), textOf(slot('recipient'))]
  const text = textOf(slot('text'))
  const hasText = sql<boolean>`(${containsIgnoringCase('subject', text)} or
    ${containsIgnoringCase('message_id', text)} or ${hasRecipient(text)})`
  return (
    db
      .selectFrom('emails')
      .select(columns)
      .where('workspace_id', '=', slot('workspaceId'))
      .where(condition)
      // With two comparisons of pairs SQLite would choose `emails_of_workspace`, and read the emails of broadcasts too.
      .where((eb) => eb.between('created_at', slot('endAt'), slot('createdAt')))
      .where((eb) => eb.or([eb('created_at', '<', slot('createdAt')), eb('id', '<', slot('id'))]))
      .where((eb) => eb.or([eb('created_at', '>', slot('endAt')), eb('id', '>=', slot('endId'))]))
      .where(sql<boolean>`(${domain} is null or from_domain = ${domain})`)
      .where(sql<boolean>`(${subject} is null or ${containsIgnoringCase('subject', subject)})`)
      .where(sql<boolean>`(${textOf(slot('tagName'))} is null or ${hasTag})`)
      .where(sql<boolean>`(${recipient} is null or ${hasRecipient(recipient)})`)
      .where(sql<boolean>`(${text} is null or ${hasText})`)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(slot('limit'))
  )
})
