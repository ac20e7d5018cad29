/** The statements of a search for emails: they compare rows with filters, in either order of time, or one email alone. */
import { type RawBuilder, sql } from 'kysely'
import { containsIgnoringCase, hasNamedValue, isInJsonList, textOf } from '../../base/storage/db/dialect.js'
import { prepareLongRead, prepareRead, type StatementBuilder } from '../../base/storage/db/prepared.js'
import { THREAD_STEP } from '../../base/storage/db/stepped-walk.js'
import type { Json } from '../../base/storage/tables/columns.js'
import type { EmailStatus } from '../../base/storage/tables/email-tables.js'
import type { Order } from '../events/recipient-events.js'
import type { Email } from './email/email.js'
import { recipientCountColumns } from './email/recipient-counts.js'
import { hasStatus, prepareFilteredRead } from './email/status-filter.js'

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
  'broadcast_id',
  ...recipientCountColumns,
] as const satisfies readonly (keyof Email)[]

export type FoundEmail = Pick<Email, (typeof columns)[number]>

/** Null fields match any email. */
export interface EmailSearch {
  readonly workspaceId: string
  readonly status: EmailStatus | null
  /** Null for the emails that belong to no broadcast, unless `withBroadcasts` is true. */
  readonly broadcastId: string | null
  /** The search finds emails of all broadcasts too. Then the status is compared row by row. */
  readonly withBroadcasts?: boolean
  /** The domain of the sender. */
  readonly domain: string | null
  readonly tagName: string | null
  readonly tagValue: string | null
  /** The API key that sent the email. */
  readonly keyId: string | null
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

/** A place in the order of the index. The list continues behind it. */
export interface Place {
  readonly createdAt: number
  readonly id: string
}

function hasRecipient(part: unknown): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from recipients where recipients.email_id = emails.id and
    ${containsIgnoringCase('recipients.address', part)})`
}

type Compared = Pick<EmailSearch, 'domain' | 'tagName' | 'tagValue' | 'keyId' | 'recipient' | 'subject' | 'text'>

/** Whether a row has what no index has. */
function isSought<Values extends Compared>({ slot }: StatementBuilder<Values>): RawBuilder<boolean> {
  const hasTag = hasNamedValue('emails.tags', slot('tagName'), slot('tagValue'))
  const [domain, subject, recipient] = [textOf(slot('domain')), textOf(slot('subject')), textOf(slot('recipient'))]
  const text = textOf(slot('text'))
  const hasText = sql<boolean>`(${containsIgnoringCase('subject', text)} or
    ${containsIgnoringCase('message_id', text)} or ${hasRecipient(text)})`
  return sql<boolean>`(${domain} is null or from_domain = ${domain})
    and (${subject} is null or ${containsIgnoringCase('subject', subject)})
    and (${textOf(slot('tagName'))} is null or ${hasTag})
    and (${textOf(slot('keyId'))} is null or key_id = ${slot('keyId')})
    and (${recipient} is null or ${hasRecipient(recipient)})
    and (${text} is null or ${hasText})`
}

type SkipValues = Omit<EmailSearch, 'status' | 'from' | 'to'> & Place & { readonly from: number; readonly to: number }
type CompareValues = SkipValues & { readonly endAt: number; readonly endId: string; readonly limit: number }

/** Finds the last row of a step, along the index alone. */
const prepareEnd = (order: Order) =>
  prepareFilteredRead<SkipValues>(prepareLongRead)(({ db, slot }, condition) => {
    const [beyond, limit, edge] = order === 'desc' ? (['<', '>=', 'from'] as const) : (['>', '<', 'to'] as const)
    return db
      .selectFrom('emails')
      .select(['id', 'created_at as createdAt'])
      .where('workspace_id', '=', slot('workspaceId'))
      .where(condition)
      .where((eb) => eb(eb.refTuple('created_at', 'id'), beyond, eb.tuple(slot('createdAt'), slot('id'))))
      .where('created_at', limit, slot(edge))
      .orderBy('created_at', order)
      .orderBy('id', order)
      .limit(1)
      .offset(THREAD_STEP - 1)
  })

const prepareRows = (order: Order) =>
  prepareFilteredRead<CompareValues>(prepareLongRead)((builder, condition, compared) => {
    const { db, slot } = builder
    const [first, last] = order === 'desc' ? (['endAt', 'createdAt'] as const) : (['createdAt', 'endAt'] as const)
    const [below, above] = order === 'desc' ? (['<', '>'] as const) : (['>', '<'] as const)
    return (
      db
        .selectFrom('emails')
        .select(columns)
        .where('workspace_id', '=', slot('workspaceId'))
        .where(condition)
        .where(compared)
        // With two comparisons of pairs SQLite would choose `emails_of_workspace`, and read the emails of broadcasts too.
        .where((eb) => eb.between('created_at', slot(first), slot(last)))
        .where((eb) => eb.or([eb('created_at', below, slot('createdAt')), eb('id', below, slot('id'))]))
        .where((eb) => eb.or([eb('created_at', above, slot('endAt')), eb('id', `${above}=`, slot('endId'))]))
        .where(isSought(builder))
        .orderBy('created_at', order)
        .orderBy('id', order)
        .limit(slot('limit'))
    )
  })

export const endOfStep = { asc: prepareEnd('asc'), desc: prepareEnd('desc') } as const
export const rowsOfStep = { asc: prepareRows('asc'), desc: prepareRows('desc') } as const

type ListedValues = Compared & Pick<EmailSearch, 'workspaceId' | 'status'> & { readonly ids: Json<readonly string[]> }

/** Reads those emails of a list, of broadcasts or not, that have what is sought, in any order. Their times are not compared. */
export const soughtEmails = prepareRead<ListedValues>()((builder) =>
  builder.db
    .selectFrom('emails')
    .select(columns)
    .where(isInJsonList('id', builder.slot('ids')))
    .where('workspace_id', '=', builder.slot('workspaceId'))
    .where(hasStatus(builder))
    .where(isSought(builder)),
)
