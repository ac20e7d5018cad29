/**
 * Lists the recipients of a broadcast by what became of their messages, in pages. Each read walks one index backwards
 * from the place of a cursor, and sorts nothing but the few rows of a page.
 *
 * An outcome has the recipients that the count of the same name counts: `delivered` has those who complained too, and
 * `sent` has all whose message left. Emails that retention has removed are in no list, except for those who
 * unsubscribed.
 */
import { sql } from 'kysely'
import { prepareRead, type Read, readTogether, type StatementBuilder } from '../../base/storage/db/prepared.js'
import type { RecipientOutcome } from '../../base/storage/tables/broadcast-tables.js'
import { parseJson, type Timestamp } from '../../base/storage/tables/columns.js'
import type { EmailStatus } from '../../base/storage/tables/email-tables.js'

export const recipientOutcomes = [
  ...(['queued', 'sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained'] as const),
  ...(['unsubscribed', 'failed', 'cancelled'] as const),
] as const satisfies readonly RecipientOutcome[]

/** The place of a row in the list of an outcome, which continues below it. */
export interface OutcomePlace {
  /** Epoch milliseconds of what orders the list: when the message was made, opened or clicked, or its link used. */
  readonly at: Timestamp
  /** The id of the email. */
  readonly id: string
}

const TOP: OutcomePlace = { at: Number.MAX_SAFE_INTEGER, id: '' }

interface RecipientsQuery {
  readonly workspaceId: string
  readonly broadcastId: string
  /** Null for all recipients. */
  readonly outcome: RecipientOutcome | null
}

interface PageQuery extends OutcomePlace {
  readonly workspaceId: string
  readonly broadcastId: string
  readonly limit: number
}

type StatusQuery = PageQuery & { readonly status: EmailStatus }

/** A recipient of a broadcast. The times are null for what did not happen. */
export interface BroadcastOutcome {
  readonly place: OutcomePlace
  readonly emailId: string
  /** Null if the record of the contact's message was removed. */
  readonly contactId: string | null
  readonly address: string
  /** Null if the email was removed. */
  readonly status: EmailStatus | null
  readonly createdAt: Timestamp
  readonly sentAt: Timestamp | null
  readonly deliveredAt: Timestamp | null
  readonly bouncedAt: Timestamp | null
  readonly openedAt: Timestamp | null
  readonly clickedAt: Timestamp | null
  readonly complainedAt: Timestamp | null
  readonly unsubscribedAt: Timestamp | null
  /** The last reply of the recipient's server. */
  readonly response: string | null
}

type EmailTime = 'created_at' | 'opened_at' | 'clicked_at'

/** Selects emails of a broadcast in the order of a time that they have, the latest first. */
function selectByTime<Query extends PageQuery>({ db, slot }: StatementBuilder<Query>, time: EmailTime) {
  return db
    .selectFrom('emails')
    .leftJoin('broadcast_messages as message', 'message.email_id', 'emails.id')
    .leftJoin('recipients as recipient', 'recipient.email_id', 'emails.id')
    .select(['emails.id', `emails.${time} as at`, 'emails.to_emails', 'emails.status', 'emails.created_at'])
    .select(['emails.sent_at', 'emails.delivered_at', 'emails.bounced_at', 'emails.opened_at', 'emails.clicked_at'])
    .select(['recipient.complained_at', 'recipient.last_response'])
    .select(['message.contact_id', 'message.address', 'message.unsubscribed_at'])
    .where('emails.workspace_id', '=', slot('workspaceId'))
    .where('emails.broadcast_id', '=', slot('broadcastId'))
    .where((eb) => eb(eb.refTuple(`emails.${time}`, 'emails.id'), '<', eb.tuple(slot('at'), slot('id'))))
    .orderBy(`emails.${time}`, 'desc')
    .orderBy('emails.id', 'desc')
    .limit(slot('limit'))
}

const all = prepareRead<PageQuery>()((builder) => selectByTime(builder, 'created_at'))

const withStatus = prepareRead<StatusQuery>()((builder) =>
  selectByTime(builder, 'created_at').where('emails.status', '=', builder.slot('status')),
)

/** The conditions of these two must be the same as in the indexes `emails_opened` and `emails_clicked`. */
const opened = prepareRead<PageQuery>()((builder) =>
  selectByTime(builder, 'opened_at').where('emails.opened_at', 'is not', null),
)

const clicked = prepareRead<PageQuery>()((builder) =>
  selectByTime(builder, 'clicked_at').where('emails.clicked_at', 'is not', null),
)

/** Messages outlive their emails. */
const unsubscribed = prepareRead<PageQuery>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_messages as message')
    .leftJoin('emails', 'emails.id', 'message.email_id')
    .leftJoin('recipients as recipient', 'recipient.email_id', 'message.email_id')
    .select(['message.email_id as id', 'message.unsubscribed_at as at', 'message.created_at', 'message.contact_id'])
    .select(['message.address', 'message.unsubscribed_at', 'emails.to_emails', 'emails.status'])
    .select(['emails.sent_at', 'emails.delivered_at', 'emails.bounced_at', 'emails.opened_at', 'emails.clicked_at'])
    .select(['recipient.complained_at', 'recipient.last_response'])
    .where('message.workspace_id', '=', slot('workspaceId'))
    .where('message.broadcast_id', '=', slot('broadcastId'))
    .where('message.unsubscribed_at', 'is not', null)
    .where((eb) =>
      eb(eb.refTuple('message.unsubscribed_at', 'message.email_id'), '<', eb.tuple(slot('at'), slot('id'))),
    )
    .orderBy('message.unsubscribed_at', 'desc')
    .orderBy('message.email_id', 'desc')
    .limit(slot('limit')),
)

/** The statuses whose emails an outcome has. The other outcomes have reads of their own. */
const statusesOf: Readonly<Partial<Record<RecipientOutcome, readonly EmailStatus[]>>> = {
  queued: ['queued'],
  sent: ['sent', 'delivered', 'complained', 'bounced'],
  delivered: ['delivered', 'complained'],
  bounced: ['bounced'],
  complained: ['complained'],
  failed: ['failed'],
  cancelled: ['cancelled'],
}

/** Reads the recipients below `after`, or the first if it is undefined. */
export async function listRecipients(
  read: Read,
  { workspaceId, broadcastId, outcome }: RecipientsQuery,
  { after = TOP, limit }: { readonly after?: OutcomePlace | undefined; readonly limit: number },
): Promise<readonly BroadcastOutcome[]> {
  const page = { workspaceId, broadcastId, ...after, limit }
  if (outcome === null) return (await all(read, page)).map(toOutcome)
  if (outcome === 'opened') return (await opened(read, page)).map(toOutcome)
  if (outcome === 'clicked') return (await clicked(read, page)).map(toOutcome)
  if (outcome === 'unsubscribed') return (await unsubscribed(read, page)).map(toOutcome)
  const queries = (statusesOf[outcome] ?? []).map((status) => withStatus.with({ ...page, status }))
  const found = (await readTogether(read, queries)).flat().map(toOutcome)
  return found.toSorted(comparePlaces).slice(0, limit)
}

function comparePlaces({ place: one }: BroadcastOutcome, { place: other }: BroadcastOutcome): number {
  if (one.at !== other.at) return other.at - one.at
  return one.id < other.id ? 1 : -1
}

type Row = Awaited<ReturnType<typeof all>>[number] | Awaited<ReturnType<typeof unsubscribed>>[number]

function toOutcome(row: Row): BroadcastOutcome {
  const { id, at, address, to_emails } = row
  return {
    place: { at: at ?? 0, id },
    emailId: id,
    contactId: row.contact_id,
    address: address ?? (to_emails === null ? '' : (parseJson(to_emails)[0] ?? '')),
    status: row.status,
    createdAt: row.created_at,
    sentAt: row.sent_at,
    deliveredAt: row.delivered_at,
    bouncedAt: row.bounced_at,
    openedAt: row.opened_at,
    clickedAt: row.clicked_at,
    complainedAt: row.complained_at,
    unsubscribedAt: row.unsubscribed_at,
    response: row.last_response,
  }
}

const firstMessage = prepareRead<Omit<RecipientsQuery, 'outcome'>>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_messages as message')
    .leftJoin('emails', 'emails.id', 'message.email_id')
    .select('emails.id as kept')
    .where('message.broadcast_id', '=', slot('broadcastId'))
    .where('message.workspace_id', '=', slot('workspaceId'))
    .orderBy('message.contact_id')
    .limit(1),
)

/**
 * Tells whether retention has removed no email of a broadcast that has recipients. Its messages are made in the order of
 * the ids of its contacts, and the oldest email is removed first. The messages stay until all emails are removed.
 */
export async function keepsAllEmails(read: Read, broadcast: Omit<RecipientsQuery, 'outcome'>): Promise<boolean> {
  const [first] = await firstMessage(read, broadcast)
  return first !== undefined && first.kept !== null
}

interface MessageQuery {
  readonly workspaceId: string
  readonly broadcastId: string
  readonly contactId: string
}

const unopenedMessage = prepareRead<MessageQuery>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_messages as message')
    .innerJoin('emails', 'emails.id', 'message.email_id')
    .select('message.contact_id')
    .where('message.broadcast_id', '=', slot('broadcastId'))
    .where('message.contact_id', '=', slot('contactId'))
    .where('message.workspace_id', '=', slot('workspaceId'))
    .where('message.unsubscribed_at', 'is', null)
    .where('emails.status', 'in', [sql.lit('sent' as const), sql.lit('delivered' as const)])
    .where('emails.opened_at', 'is', null)
    .where('emails.clicked_at', 'is', null),
)

/** The contacts that are looked up together. */
const GROUP = 50

/**
 * Returns those of the contacts who got the broadcast and have neither opened it nor followed a link of it. It leaves out
 * those whose message bounced, and who complained or unsubscribed.
 */
export async function findUnopened(
  read: Read,
  { workspaceId, broadcastId }: Omit<RecipientsQuery, 'outcome'>,
  contactIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (let at = 0; at < contactIds.length; at += GROUP) {
    const group = contactIds.slice(at, at + GROUP)
    const queries = group.map((contactId) => unopenedMessage.with({ workspaceId, broadcastId, contactId }))
    for (const { contact_id } of (await readTogether(read, queries)).flat()) found.add(contact_id)
  }
  return found
}
