/**
 * The record of one email as clients see it: GET /v1/emails/:id, and with every attempt what
 * `posthorn explain --json` prints.
 *
 * What the message holds is read out of its bytes each time; nothing of it is kept twice. Where
 * they are gone, or cannot be taken apart, `html` and `text` are null and the rest is empty.
 *
 * `headers` are the fields that an app sets by its own choice, by their names as written: not
 * those that are shown in a place of their own (From, Subject, Message-ID and the like), not
 * those that say how the message is built or travelled (Content-*, MIME-Version, Received,
 * signatures). Where a name is there several times, its values are joined by a comma and a blank.
 */
import { shown } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import type { Read } from '../storage/prepared.js'
import { type Email, emailById, emailOfAnyWorkspace } from './email.js'
import { type AttemptStory, type EmailStory, emailStory, type RecipientStory } from './email-story.js'
import type { MimeReader } from './mime/mime-parts.js'
import type { MimeAttachment, MimeField, MimeParts } from './mime/mime-parts-protocol.js'
import { rawOfEmail, signatureOfEmail } from './raw-message.js'

export interface EmailContent {
  readonly html: string | null
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly attachments: readonly Pick<MimeAttachment, 'filename' | 'content_type' | 'size'>[]
}

export type WithContent<Story> = Story & EmailContent

type Logged = 'number' | 'at' | 'duration_ms' | 'mx' | 'outcome' | 'reason' | 'response' | 'tls' | 'next_attempt_at'
export type LoggedAttempt = Pick<AttemptStory, Logged>

type Shown = 'email' | 'status' | 'last_response' | 'mx' | 'next_attempt_at' | 'delivered_at'
export interface RecipientResource extends Pick<RecipientStory, Shown> {
  /** How many there were. */
  readonly attempts: number
  readonly attempt_log: readonly LoggedAttempt[]
}

export interface EmailResource extends WithContent<Omit<EmailStory, 'recipients'>> {
  readonly recipients: readonly RecipientResource[]
}

export interface Viewer {
  readonly workspaceId: string
  /** Not null: sees only what this key has sent. */
  readonly ownKey: string | null
}

export interface ResourceDeps {
  readonly read: Read
  readonly mime: Pick<MimeReader, 'read'>
}

/** The email, where the viewer may see it; throws a Refusal `email-not-found`. */
export function visibleEmail(read: Read, { workspaceId, ownKey }: Viewer, id: string): Email {
  const email = emailById(read, { workspaceId, id })[0]
  if (email === undefined || (ownKey !== null && email.key_id !== ownKey)) throw notFound(id)
  return email
}

export async function emailResource(deps: ResourceDeps, viewer: Viewer, id: string): Promise<EmailResource> {
  visibleEmail(deps.read, viewer, id)
  return resourceWith(await contentOf(deps, viewer.workspaceId, id), deps.read, viewer, id)
}

/**
 * The email after it was changed. That stands, so no refusal hides it: where the reader of
 * messages has no place, the email is shown as if its message could not be read.
 */
export async function changedEmail(deps: ResourceDeps, viewer: Viewer, id: string): Promise<EmailResource> {
  visibleEmail(deps.read, viewer, id)
  const content = await contentOf(deps, viewer.workspaceId, id).catch((error: unknown) => {
    if (error instanceof Refusal) return unreadable
    throw error
  })
  return resourceWith(content, deps.read, viewer, id)
}

/** The story is read after the content, whose reading takes time: what is shown is how things are now. */
function resourceWith(content: EmailContent, read: Read, { workspaceId }: Viewer, id: string): EmailResource {
  const story = emailStory(read, { workspaceId, id })
  if (story === null) throw notFound(id)
  return { ...withContent(story, content), recipients: story.recipients.map(recipientResource) }
}

/** The record with every attempt and what the message holds, for the operator; null: no such email. */
export async function emailRecord(deps: ResourceDeps, id: string): Promise<WithContent<EmailStory> | null> {
  const email = emailOfAnyWorkspace(deps.read, { id })[0]
  if (email === undefined) return null
  const { workspace_id: workspaceId } = email
  const content = await contentOf(deps, workspaceId, id)
  const story = emailStory(deps.read, { workspaceId, id })
  return story === null ? null : withContent(story, content)
}

/** The message as it goes out; throws a Refusal `email-not-found` where its bytes are not kept any more. */
export function outgoingMessage(read: Read, viewer: Viewer, id: string): Buffer {
  visibleEmail(read, viewer, id)
  const key = { workspaceId: viewer.workspaceId, emailId: id }
  const raw = rawOfEmail(read, key)[0]?.raw
  if (raw === undefined) {
    const kept = 'messages are kept for a time (retention.messages), their records longer'
    throw new Refusal('email-not-found', `the message of email ${shown(id)} is not kept any more: ${kept}`, { id })
  }
  const field = signatureOfEmail(read, key)[0]?.field
  return field === undefined ? raw : Buffer.concat([Buffer.from(field, 'latin1'), raw])
}

function notFound(id: string): Refusal {
  return new Refusal('email-not-found', `no such email: ${shown(id)}`, { id: shown(id) })
}

async function contentOf({ read, mime }: ResourceDeps, workspaceId: string, emailId: string): Promise<EmailContent> {
  const result = await mime.read(workspaceId, () => rawOfEmail(read, { workspaceId, emailId })[0]?.raw)
  return result.kind === 'parts' ? emailContent(result.parts) : unreadable
}

const unreadable: EmailContent = { html: null, text: null, headers: {}, attachments: [] }

function emailContent({ html, text, headers, attachments }: MimeParts): EmailContent {
  return {
    html,
    text,
    headers: customFields(headers),
    attachments: [...attachments]
      .sort((one, other) => rank(one) - rank(other))
      .map(({ filename, content_type, size }) => ({ filename, content_type, size })),
  }
}

/** Pictures of the HTML stand before what is attached in the message, and behind it in the record. */
function rank({ disposition, content_id }: MimeAttachment): number {
  return disposition === 'inline' && content_id !== null ? 1 : 0
}

const shownElsewhere = ['from', 'to', 'cc', 'bcc', 'reply-to', 'subject', 'message-id']
const ofTheForm = ['date', 'sender', 'mime-version']
const ofTheWay = ['received', 'return-path', 'delivered-to', 'authentication-results', 'dkim-signature']
const notCustom: ReadonlySet<string> = new Set([...shownElsewhere, ...ofTheForm, ...ofTheWay])

function customFields(fields: readonly MimeField[]): Readonly<Record<string, string>> {
  const found = new Map<string, { readonly name: string; readonly values: string[] }>()
  for (const { name, value } of fields) {
    const lower = name.toLowerCase()
    if (notCustom.has(lower) || lower.startsWith('content-') || lower.startsWith('arc-')) continue
    const known = found.get(lower)
    if (known === undefined) found.set(lower, { name, values: [value] })
    else known.values.push(value)
  }
  // Entries, because a field may be called "__proto__".
  return Object.fromEntries([...found.values()].map(({ name, values }) => [name, values.join(', ')]))
}

/** In the order of the interface. */
function withContent(story: EmailStory, { html, text, headers, attachments }: EmailContent): WithContent<EmailStory> {
  const { id, message_id, from, to, cc, bcc, reply_to, subject, tags, ...others } = story
  const head = { id, message_id, from, to, cc, bcc, reply_to, subject }
  return { ...head, html, text, headers, tags, attachments, ...others }
}

function recipientResource(recipient: RecipientStory): RecipientResource {
  const { email, status, attempts, last_response, mx, next_attempt_at, delivered_at } = recipient
  return {
    email,
    status,
    attempts: attempts.at(-1)?.number ?? 0,
    last_response,
    mx,
    next_attempt_at,
    delivered_at,
    attempt_log: attempts.map(loggedAttempt),
  }
}

/** Without the address that was dialled, which says more of our network than of the email. */
function loggedAttempt({ address: _dialled, ...attempt }: AttemptStory): LoggedAttempt {
  return attempt
}
