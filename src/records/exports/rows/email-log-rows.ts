/**
 * The rows of `email_logs`: one for each recipient of the emails that were accepted in the range, including those of
 * broadcasts, in the order of their acceptance.
 *
 * Opens and clicks belong to the email. If its recipients share a message, each row has the first of them all.
 */

import { prepareRead, type Read, readTogether } from '../../../base/storage/db/prepared.js'
import { parseJson, type Timestamp } from '../../../base/storage/tables/columns.js'
import type { EmailsTable } from '../../../base/storage/tables/email-tables.js'
import type { Recipient } from '../../messages/email/recipients.js'
import { type ExportRange, type ExportSource, formatExportedTime, progressOf } from './export-source.js'

/** The emails of a step. */
const STEP = 250
/** The emails whose recipients are read together. */
const GROUP = 25

const columns = [
  ...['email_id', 'message_id', 'from', 'to', 'subject', 'status', 'created_at', 'sent_at', 'delivered_at'],
  ...['opened_at', 'clicked_at', 'tags'],
]

interface Cursor {
  readonly at: Timestamp
  readonly id: string
}

const emailColumns = [
  ...(['id', 'message_id', 'from_email', 'from_domain', 'subject', 'status', 'tags'] as const),
  ...(['created_at', 'sent_at', 'opened_at', 'clicked_at'] as const),
] as const

type LoggedEmail = Pick<EmailsTable, (typeof emailColumns)[number]>

const emailsAfter = prepareRead<Cursor & { workspaceId: string; to: Timestamp }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(emailColumns)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('created_at', '<', slot('to'))
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '>', eb.tuple(slot('at'), slot('id'))))
    .orderBy('created_at')
    .orderBy('id')
    .limit(STEP),
)

const recipientColumns = ['address', 'status', 'delivered_at', 'settled_at', 'complained_at'] as const

type LoggedRecipient = Pick<Recipient, (typeof recipientColumns)[number]>

const recipientsOf = prepareRead<{ emailId: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('recipients')
    .select(recipientColumns)
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export function createEmailLogSource(read: Read, range: ExportRange): ExportSource {
  const { workspace_id: workspaceId, from_at: from, to_at: to, domain } = range
  return {
    columns,
    readStep: async (text) => {
      // No id is smaller than the empty text, so the first email at `from` comes after this cursor.
      const cursor = text === null ? { at: from, id: '' } : parseCursor(text)
      // The read has no condition on the domain, so that a step ends after its rows.
      const emails = await emailsAfter(read, { ...cursor, workspaceId, to })
      const last = emails[STEP - 1]
      const chosen = domain === null ? emails : emails.filter(({ from_domain }) => from_domain === domain)
      return {
        rows: formatEmails(read, workspaceId, chosen),
        cursor: last === undefined ? null : `${last.created_at} ${last.id}`,
        progress: last === undefined ? 1_000 : progressOf(last.created_at, from, to),
      }
    },
  }
}

function parseCursor(text: string): Cursor {
  const space = text.indexOf(' ')
  return { at: Number(text.slice(0, space)), id: text.slice(space + 1) }
}

async function* formatEmails(
  read: Read,
  workspaceId: string,
  emails: readonly LoggedEmail[],
): AsyncGenerator<readonly string[], void> {
  for (let at = 0; at < emails.length; at += GROUP) {
    const group = emails.slice(at, at + GROUP)
    const queries = group.map(({ id }) => recipientsOf.with({ emailId: id, workspaceId }))
    const found = await readTogether(read, queries)
    for (const [place, email] of group.entries()) yield* formatEmail(email, found[place] ?? [])
  }
}

function* formatEmail(email: LoggedEmail, recipients: readonly LoggedRecipient[]): Generator<readonly string[], void> {
  const tags = formatTags(email)
  const isOnly = recipients.length === 1
  for (const recipient of recipients) {
    yield [
      ...[email.id, email.message_id, email.from_email, recipient.address, email.subject],
      ...[recipient.complained_at === null ? recipient.status : 'complained', formatExportedTime(email.created_at)],
      ...[formatExportedTime(sentTimeOf(email, recipient, isOnly)), formatExportedTime(recipient.delivered_at)],
      ...[formatExportedTime(email.opened_at), formatExportedTime(email.clicked_at), tags],
    ]
  }
}

/** Formats tags as JSON, as in events. Empty if there are no tags. */
function formatTags({ tags }: LoggedEmail): string {
  const list = parseJson(tags)
  return list.length === 0 ? '' : JSON.stringify(Object.fromEntries(list.map(({ name, value }) => [name, value])))
}

/** Returns when a server took over the email for this recipient. The email has only the time of its first recipient. */
function sentTimeOf({ sent_at }: LoggedEmail, recipient: LoggedRecipient, isOnly: boolean): Timestamp | null {
  if (isOnly) return sent_at
  switch (recipient.status) {
    case 'sent':
      return recipient.settled_at
    case 'delivered':
      return recipient.delivered_at
    default:
      return null
  }
}
