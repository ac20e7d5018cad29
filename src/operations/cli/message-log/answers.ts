/**
 * Finds mail that answers a message, by In-Reply-To and References: inbound mail that answers an email, and emails that
 * answer inbound mail. Neither has an index, so the records of the workspace after the message are walked in short
 * steps.
 */
import { findFields, readFieldValue, scanHeaderOrEmpty } from '../../../base/mail/header-fields.js'
import { type Awaitable, prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { orLost } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { Email } from '../../../records/messages/email/email.js'
import { readRaw } from '../../../records/messages/email/raw-message.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import type { ShowProgress } from '../command/progress.js'
import { entryOf, type LogEntry } from './log-entry.js'

/** Records that are read, and answers that are shown. */
const MAX_LOOKED = 1_000_000
const MAX_ANSWERS = 100

interface Place {
  readonly time: number
  readonly id: string
}

interface PageQuery extends Place {
  readonly workspaceId: string
  readonly limit: number
}

const laterInbound = prepareRead<PageQuery>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select(['id', 'received_at as time', 'reference_ids', 'from_email', 'subject'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('kind', '=', 'mail')
    .where((eb) => eb(eb.refTuple('received_at', 'id'), '>', eb.tuple(slot('time'), slot('id'))))
    .orderBy('received_at')
    .orderBy('id')
    .limit(slot('limit')),
)

const laterEmails = prepareRead<PageQuery>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['id', 'created_at as time', 'to_emails', 'subject', 'status'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('broadcast_id', 'is', null)
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '>', eb.tuple(slot('time'), slot('id'))))
    .orderBy('created_at')
    .orderBy('id')
    .limit(slot('limit')),
)

export async function inboundAnswers(
  read: Read,
  email: Email,
  showProgress: ShowProgress,
): Promise<readonly LogEntry[]> {
  const { workspace_id: workspaceId, message_id: messageId, created_at: since } = email
  if (workspaceId === SERVICE_WORKSPACE) return []
  const readPage = (place: Place): ReturnType<typeof laterInbound> =>
    laterInbound(read, { ...place, workspaceId, limit: ROW_STEP })
  const asJson = JSON.stringify(messageId)
  return walk(readPage, since, showProgress, async ({ reference_ids, time, id, from_email, subject }) =>
    reference_ids.includes(asJson)
      ? entryOf(time, 'answer', `"${subject}" from ${from_email}, inbound ${id}`, { inbound_id: id, from: from_email })
      : null,
  )
}

export async function sentAnswers(
  read: Read,
  inbound: InboundEmail,
  showProgress: ShowProgress,
): Promise<readonly LogEntry[]> {
  const { workspace_id: workspaceId, message_id: messageId, received_at: since, from_email: from } = inbound
  if (messageId === null) return []
  const readPage = (place: Place): ReturnType<typeof laterEmails> =>
    laterEmails(read, { ...place, workspaceId, limit: ROW_STEP })
  return walk(readPage, since, showProgress, async ({ id, time, to_emails, subject, status }) =>
    to_emails.includes(from) && (await answers(read, { workspaceId, emailId: id }, messageId))
      ? entryOf(time, 'answer', `"${subject}": ${status}, email ${id}`, { email_id: id, status })
      : null,
  )
}

async function answers(read: Read, key: { workspaceId: string; emailId: string }, messageId: string): Promise<boolean> {
  const raw = await orLost(() => readRaw(read, key))
  if (!(raw instanceof Buffer)) return false
  const header = scanHeaderOrEmpty(raw)
  const fields = [...findFields(header, 'in-reply-to'), ...findFields(header, 'references')]
  return fields.some((field) => readFieldValue(raw, field).includes(messageId))
}

async function walk<Row extends Place>(
  readPage: (place: Place) => Awaitable<readonly Row[]>,
  since: number,
  showProgress: ShowProgress,
  judge: (row: Row) => Promise<LogEntry | null>,
): Promise<readonly LogEntry[]> {
  const found: LogEntry[] = []
  let place: Place = { time: since, id: '' }
  for (let looked = 0; looked < MAX_LOOKED && found.length < MAX_ANSWERS; looked += ROW_STEP) {
    const page = await readPage(place)
    for (const row of page) {
      const entry = await judge(row)
      if (entry !== null) found.push(entry)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < ROW_STEP) return found
    place = { time: last.time, id: last.id }
    showProgress(`${looked + ROW_STEP} later records searched for answers`)
    await waitForStep()
  }
  return found
}
