/**
 * The record of one email as clients see it: GET /v1/emails/:id, and with every attempt the output of `posthorn explain
 * --json`.
 *
 * The content is read from the message's bytes each time; no part of it is stored twice. `html` is what was submitted,
 * without the changes of tracking. If the bytes are gone, or cannot be parsed, `html` and `text` are null and the rest
 * is empty.
 *
 * `headers` are the fields that an app chose to set, by their names as written. Fields with another place in the record
 * (From, Subject, Message-ID and the like) are left out, and so are those about structure and transport (Content-*,
 * MIME-Version, Received, signatures). If a name occurs several times, a comma and a blank join its values.
 */
import { type Address, formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { JsonText } from '../../base/platform/json-text.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { type Email, emailById, emailOfAnyWorkspace } from './email/email.js'
import { readLargeRaw, signatureOfEmail } from './email/raw-message.js'
import { copyOfRecipient, copyToPieces } from './email/recipient-copies.js'
import { recipientsOfEmail } from './email/recipients.js'
import { type AttemptDetails, type EmailDetails, type RecipientDetails, readEmailDetails } from './email-details.js'
import { isFramed } from './frames/framed-message.js'
import type { MimeReader } from './mime/mime-parts.js'
import type { HtmlChangeRequest, MimeAttachment, MimeField, ReadableParts } from './mime/mime-parts-protocol.js'

interface EmailContent {
  /** JSON texts. */
  readonly html: JsonText | null
  readonly text: JsonText | null
  readonly headers: Readonly<Record<string, string>>
  readonly attachments: readonly Pick<MimeAttachment, 'filename' | 'content_type' | 'size'>[]
}

type WithContent<Details> = Details & EmailContent

type AttemptField =
  | 'number'
  | 'at'
  | 'duration_ms'
  | 'mx'
  | 'outcome'
  | 'reason'
  | 'response'
  | 'tls'
  | 'next_attempt_at'
type LoggedAttempt = Pick<AttemptDetails, AttemptField>

type RecipientField = 'email' | 'status' | 'last_response' | 'mx' | 'next_attempt_at' | 'delivered_at'
interface RecipientResource extends Pick<RecipientDetails, RecipientField> {
  /** The number of attempts. */
  readonly attempts: number
  readonly attempt_log: readonly LoggedAttempt[]
}

export interface EmailResource extends WithContent<Omit<EmailDetails, 'recipients'>> {
  readonly recipients: readonly RecipientResource[]
}

export interface Viewer {
  readonly workspaceId: string
  /** If not null, only emails that this key has sent are visible. */
  readonly ownKey: string | null
}

export interface ResourceDeps {
  readonly read: Read
  readonly mime: Pick<MimeReader, 'readForDisplay'>
  /** Returns what changes the HTML of the message back to the submitted HTML. Null if nothing has to be changed. */
  readonly findHtmlChange: (email: {
    readonly workspaceId: string
    readonly emailId: string
  }) => Promise<HtmlChangeRequest | null>
}

/** Returns the email if the viewer may see it. Throws a Refusal `email-not-found`. */
export async function requireVisibleEmail(read: Read, { workspaceId, ownKey }: Viewer, id: string): Promise<Email> {
  const email = (await emailById(read, { workspaceId, id }))[0]
  if (email === undefined || (ownKey !== null && email.key_id !== ownKey)) throw buildNotFound(id)
  return email
}

export async function readEmailResource(deps: ResourceDeps, viewer: Viewer, id: string): Promise<EmailResource> {
  await requireVisibleEmail(deps.read, viewer, id)
  return buildResource(await readContent(deps, viewer.workspaceId, id), deps.read, viewer, id)
}

/**
 * Returns the email after it was changed. The change is on disk, so no refusal may hide it: if the message reader is
 * overloaded, the email is shown as if its message could not be read.
 */
export async function readChangedEmail(deps: ResourceDeps, viewer: Viewer, id: string): Promise<EmailResource> {
  await requireVisibleEmail(deps.read, viewer, id)
  const content = await readContent(deps, viewer.workspaceId, id).catch((error: unknown) => {
    if (error instanceof Refusal) return unreadableContent
    throw error
  })
  return buildResource(content, deps.read, viewer, id)
}

/** Reads the history after the content, which takes time, so that the current state is shown. */
async function buildResource(
  content: EmailContent,
  read: Read,
  { workspaceId }: Viewer,
  id: string,
): Promise<EmailResource> {
  const story = await readEmailDetails(read, { workspaceId, id })
  if (story === null) throw buildNotFound(id)
  return { ...withContent(story, content), recipients: story.recipients.map(toRecipientResource) }
}

/**
 * Reads the record with every attempt and the content of the message, for the operator. Resolves to null if there is no
 * such email.
 */
export async function readEmailRecord(deps: ResourceDeps, id: string): Promise<WithContent<EmailDetails> | null> {
  const email = (await emailOfAnyWorkspace(deps.read, { id }))[0]
  if (email === undefined) return null
  const { workspace_id: workspaceId } = email
  const content = await readContent(deps, workspaceId, id)
  const story = await readEmailDetails(deps.read, { workspaceId, id })
  return story === null ? null : withContent(story, content)
}

/**
 * Reads the message as it is sent to `recipient`, in pieces. Null means the first recipient. Rejects with a Refusal:
 * `email-not-found` if its bytes are no longer stored, `not-found` if it is not sent to that address.
 */
export async function readOutgoingMessage(
  read: Read,
  viewer: Viewer,
  id: string,
  recipient: Address | null,
): Promise<readonly Buffer[]> {
  const { has_copies } = await requireVisibleEmail(read, viewer, id)
  const key = { workspaceId: viewer.workspaceId, emailId: id }
  const recipientId = recipient === null ? null : await requireRecipient(read, key, recipient)
  const raw = await readLargeRaw(read, key)
  if (raw === undefined) {
    const kept = 'messages are kept for a time (retention.messages), their records longer'
    throw new Refusal('email-not-found', `the message of email ${formatForDisplay(id)} is no longer stored: ${kept}`, {
      id,
    })
  }
  const [copy] =
    has_copies === 0 || recipientId === null
      ? []
      : await copyOfRecipient(read, { workspaceId: viewer.workspaceId, recipientId })
  const field = copy === undefined ? (await signatureOfEmail(read, key))[0]?.field : copy.signature
  const pieces = copy === undefined ? [raw] : copyToPieces(raw, copy)
  return field == null ? pieces : [Buffer.from(field, 'latin1'), ...pieces]
}

/** Returns the id of the recipient. A suppressed one gets no message. */
async function requireRecipient(
  read: Read,
  key: { workspaceId: string; emailId: string },
  address: Address,
): Promise<string> {
  const lower = address.toLowerCase()
  const found = (await recipientsOfEmail(read, key)).find((one) => one.address.toLowerCase() === lower)
  if (found !== undefined && found.status !== 'suppressed') return found.id
  const shown = formatForDisplay(address)
  const message = found === undefined ? `the email has no recipient ${shown}` : `${shown} is suppressed: no message`
  throw new Refusal('not-found', message, { id: shown })
}

function buildNotFound(id: string): Refusal {
  return new Refusal('email-not-found', `no such email: ${formatForDisplay(id)}`, { id: formatForDisplay(id) })
}

async function readContent(
  { read, mime, findHtmlChange }: ResourceDeps,
  workspaceId: string,
  emailId: string,
): Promise<EmailContent> {
  const email = { workspaceId, emailId }
  const display = { makesText: false, htmlChange: await findHtmlChange(email) }
  const result = await mime.readForDisplay(workspaceId, () => readLargeRaw(read, email), display)
  if (result.kind !== 'readable') return unreadableContent
  // A broadcast has no fields that an app has set.
  const headers = isFramed(emailId) ? [] : result.parts.headers
  return toEmailContent({ ...result.parts, headers })
}

const unreadableContent: EmailContent = { html: null, text: null, headers: {}, attachments: [] }

function toEmailContent({ html, text, headers, attachments }: ReadableParts): EmailContent {
  return {
    html: html === null ? null : new JsonText(html),
    text: text === null ? null : new JsonText(text),
    headers: selectCustomFields(headers),
    attachments: [...attachments]
      .sort((one, other) => rankOf(one) - rankOf(other))
      .map(({ filename, content_type, size }) => ({ filename, content_type, size })),
  }
}

/** Ranks attachments: inline images precede other attachments in the message, and follow them in the record. */
function rankOf({ disposition, content_id }: MimeAttachment): number {
  return disposition === 'inline' && content_id !== null ? 1 : 0
}

const resourceFields = ['from', 'to', 'cc', 'bcc', 'reply-to', 'subject', 'message-id']
const structuralFields = ['date', 'sender', 'mime-version']
const transportFields = ['received', 'return-path', 'delivered-to', 'authentication-results', 'dkim-signature']
const standardFields: ReadonlySet<string> = new Set([...resourceFields, ...structuralFields, ...transportFields])

/** Matches a value that this server has written (`sending/unsubscribe-links.ts`). */
const ownListValue = /\/v1\/unsubscribe\/[a-z2-7]{42}>, <mailto:unsubscribe\+[a-z2-7]{42}@/

const listFields: ReadonlySet<string> = new Set(['list-unsubscribe', 'list-unsubscribe-post'])

function hasOwnListFields(fields: readonly MimeField[]): boolean {
  return fields.some(({ name, value }) => name.toLowerCase() === 'list-unsubscribe' && ownListValue.test(value))
}

function selectCustomFields(fields: readonly MimeField[]): Readonly<Record<string, string>> {
  const fieldsByName = new Map<string, { readonly name: string; readonly values: string[] }>()
  const skipsListFields = hasOwnListFields(fields)
  for (const { name, value } of fields) {
    const lower = name.toLowerCase()
    if (skipsListFields && listFields.has(lower)) continue
    if (standardFields.has(lower) || lower.startsWith('content-') || lower.startsWith('arc-')) continue
    const known = fieldsByName.get(lower)
    if (known === undefined) fieldsByName.set(lower, { name, values: [value] })
    else known.values.push(value)
  }
  // The object is made from entries, because a field may be called "__proto__".
  return Object.fromEntries([...fieldsByName.values()].map(({ name, values }) => [name, values.join(', ')]))
}

/** Returns the fields in the order of the interface. */
function withContent(
  story: EmailDetails,
  { html, text, headers, attachments }: EmailContent,
): WithContent<EmailDetails> {
  const { id, message_id, from, to, cc, bcc, reply_to, subject, tags, ...others } = story
  const head = { id, message_id, from, to, cc, bcc, reply_to, subject }
  return { ...head, html, text, headers, tags, attachments, ...others }
}

function toRecipientResource(recipient: RecipientDetails): RecipientResource {
  const { email, status, attempts, last_response, mx, next_attempt_at, delivered_at } = recipient
  return {
    email,
    status,
    attempts: attempts.at(-1)?.number ?? 0,
    last_response,
    mx,
    next_attempt_at,
    delivered_at,
    attempt_log: attempts.map(toLoggedAttempt),
  }
}

/** Leaves out the connected address, which says more about our network than about the email. */
function toLoggedAttempt({ address: _dialled, ...attempt }: AttemptDetails): LoggedAttempt {
  return attempt
}
