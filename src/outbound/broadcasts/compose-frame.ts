/**
 * Composes the frame of a broadcast's messages from its content, once for all recipients: header, text and HTML in
 * quoted-printable, with slots for what differs (`contact-message.ts` fills them).
 *
 * Every message has the fields of mailing lists: List-Unsubscribe and List-Unsubscribe-Post (RFC 2369, RFC 8058),
 * List-Id of the audience (RFC 2919), by which people filter it, and `Precedence: bulk`, which suppresses automatic
 * replies. A body without an unsubscribe link gets one at its end.
 *
 * The functions are pure except for the boundary and the marks, which are random. Large content takes up to 50 ms.
 */
import { isAscii } from 'node:buffer'
import { type DomainName, domainOf } from '../../base/mail/address.js'
import { escapeHtml } from '../../base/mail/markup.js'
import { createMessageId } from '../../base/mail/message-id.js'
import { Refusal } from '../../base/mail/refusal.js'
import { randomSecret } from '../../base/platform/ids.js'
import { encodeFullLines, SOFT_BREAK } from '../../records/messages/frames/encode-slot.js'
import type { FrameSlot, MessageFrame } from '../../records/messages/frames/message-frame.js'
import { textOfHtml } from '../../records/messages/mime/text-of-html.js'
import { mailHostOf } from '../../workspaces/domains/rows/sending-domains.js'
import { composeMailboxes, composeSubject } from '../sending/compose-header.js'
import { buildListFields, buildUnsubscribeUrl } from '../sending/unsubscribe-links.js'
import { type BroadcastContent, type ParsedContent, parseBroadcastContent } from './broadcast-content.js'
import { FrameValues, Marks, markText, type SplitText, toSubject, type ValuePlace } from './message-text.js'
import { trackBroadcast } from './track-broadcast.js'

export interface BroadcastIds {
  readonly broadcastId: string
  readonly audienceId: string
  /** False if links stay as they are and there is no pixel. */
  readonly isTracked?: boolean
}

export interface FrameSettings extends BroadcastIds {
  /** The domain of Message-IDs. */
  readonly hostname: string
  /** `service.public_url`. */
  readonly publicUrl: string
  /** The URL, without a trailing slash, under which links in mail of the sender's domain reach this server. */
  readonly base: string
}

export interface ComposedBroadcast {
  readonly frame: MessageFrame
  /** The URLs without variables to which links lead. Each occurs once. */
  readonly links: readonly string[]
}

/** 5 MB: the most bytes that all messages may have in common. */
const MAX_FIXED = 5 * 1_048_576
const BOUNDARY_BYTES = 16

/** Throws a Refusal: `invalid-parameter`, `invalid-template-variables` or `too-large`. */
export function composeFrame(content: BroadcastContent, settings: FrameSettings): ComposedBroadcast {
  const parsed = parseBroadcastContent(content)
  const { broadcastId, hostname, base } = settings
  const domain = domainOf(content.sender.address)
  const composing: Composing = { ...settings, marks: new Marks(), domain }
  const { text, html, links } = buildBodies(parsed, content.html ?? '', composing)
  const values = new FrameValues()
  const header = toHeaderPieces(composeHeader(content, parsed, composing), values)
  const smtputf8 = header.some((piece) => Buffer.isBuffer(piece) && !isAscii(piece))
  const pieces = joinFixed([...header, ...joinBodies({ text, html }, values)])
  checkFixed(pieces)
  const recipe = { broadcastId, hostname, domain, base, subject: toSubject(parsed.subject), values: values.values }
  return { frame: { pieces, smtputf8, recipe }, links }
}

type Pieces = readonly (Buffer | FrameSlot)[]

interface Composing extends FrameSettings {
  readonly marks: Marks
  /** The domain of the From address. */
  readonly domain: DomainName
}

interface Body {
  readonly parts: SplitText
  readonly form: BodyForm
}

interface Bodies {
  readonly text: Body
  readonly html: Body | null
  readonly links: readonly string[]
}

function buildBodies(parsed: ParsedContent, source: string, composing: Composing): Bodies {
  const { marks, base } = composing
  const url = buildUnsubscribeUrl(base, marks.add({ kind: 'unsubscribe-token' }))
  const html = parsed.html === null ? null : markText(parsed.html, marks, base, 'html')
  const text =
    parsed.text === null ? marks.dropCutMark(textOfHtml(html ?? '')) : markText(parsed.text, marks, base, 'text')
  const form = parsed.text === null ? 'text-of-html' : 'text'
  const parts = marks.split(text)
  const plain = { parts: hasUnsubscribeUrl(parts) ? parts : marks.split(text + buildTextFooter(url)), form } as const
  if (html === null) return { text: plain, html: null, links: [] }
  const footer = hasUnsubscribeUrl(marks.split(html)) ? '' : buildHtmlFooter(url)
  const tracked = trackBroadcast(html, { ...composing, source, footer })
  return { text: plain, html: { parts: marks.split(tracked.html), form: 'html' }, links: tracked.links }
}

function hasUnsubscribeUrl(parts: SplitText): boolean {
  return parts.some((part) => typeof part !== 'string' && part.value.kind === 'unsubscribe-token')
}

/** Composes the header with marks. The To field is one mark, and so is the Subject field if it has variables. */
function composeHeader(
  { sender, replyTo, subject }: BroadcastContent,
  parsed: ParsedContent,
  { hostname, marks, base, domain, audienceId }: Composing,
): SplitText {
  const host = mailHostOf(domain)
  const lists = buildListFields(base, marks.add({ kind: 'unsubscribe-token' }), host)
  const fields = [
    composeMailboxes('From', [sender]),
    marks.add({ kind: 'to' }),
    composeMailboxes('Reply-To', replyTo),
    parsed.subject.uses.size > 0 ? marks.add({ kind: 'subject' }) : composeSubject(subject),
    ...lists.map(({ name, value }) => `${name}: ${value.replace(', ', ',\r\n ')}\r\n`),
    `List-Id: <${audienceId}.${host}>\r\n`,
    'Precedence: bulk\r\n',
    `Message-ID: ${createMessageId(marks.add({ kind: 'email-id' }), hostname)}\r\n`,
    `Date: ${marks.add({ kind: 'date' })}\r\n`,
    'MIME-Version: 1.0\r\n',
  ]
  return marks.split(fields.join(''))
}

function toHeaderPieces(header: SplitText, values: FrameValues): Pieces {
  return header.map((part) => (typeof part === 'string' ? Buffer.from(part) : values.slotOf(part.value, 'verbatim')))
}

const ENCODING = 'Content-Transfer-Encoding: quoted-printable\r\n\r\n'

/** Joins the header fields of the structure, and the bodies. */
function joinBodies({ text, html }: Omit<Bodies, 'links'>, values: FrameValues): Pieces {
  const plain = encodeBody(text.parts, text.form, values)
  const plainStart = `Content-Type: text/plain; charset=utf-8\r\n${ENCODING}`
  if (html === null) return [Buffer.from(plainStart), ...plain]
  const rich = encodeBody(html.parts, html.form, values)
  // No line of quoted-printable begins like this (RFC 2045 section 6.7).
  const boundary = `=_${randomSecret(BOUNDARY_BYTES).toString('hex')}`
  const start = `Content-Type: multipart/alternative;\r\n boundary="${boundary}"\r\n\r\n`
  return [
    Buffer.from(`${start}--${boundary}\r\n${plainStart}`),
    ...plain,
    Buffer.from(`\r\n--${boundary}\r\nContent-Type: text/html; charset=utf-8\r\n${ENCODING}`),
    ...rich,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]
}

/** Joins the fixed pieces between two slots into one. */
function joinFixed(pieces: Pieces): Pieces {
  const joined: (Buffer | FrameSlot)[] = []
  let fixed: Buffer[] = []
  const flush = (): void => {
    if (fixed.length > 0) joined.push(Buffer.concat(fixed))
    fixed = []
  }
  for (const piece of pieces) {
    if (Buffer.isBuffer(piece)) {
      fixed.push(piece)
      continue
    }
    flush()
    joined.push(piece)
  }
  flush()
  return joined
}

function checkFixed(pieces: Pieces): void {
  const size = pieces.reduce((sum, piece) => sum + (Buffer.isBuffer(piece) ? piece.length : 0), 0)
  if (size <= MAX_FIXED) return
  const message = `the messages would have ${size} bytes or more, allowed: ${MAX_FIXED}`
  throw new Refusal('too-large', message, { size, limit: MAX_FIXED })
}

/**
 * A body of a broadcast as pieces of its frame, in quoted-printable. Each piece and each slot begins and ends at the
 * start of a line; the body ends with a line end.
 *
 * `text-of-html` is text that was made from the HTML.
 */
type BodyForm = 'html' | 'text' | 'text-of-html'

function encodeBody(parts: SplitText, form: BodyForm, values: FrameValues): readonly (Buffer | FrameSlot)[] {
  const pieces: (Buffer | FrameSlot)[] = []
  for (const part of withLineEnd(parts)) {
    if (typeof part === 'string') {
      pieces.push(encodeFullLines(part.replace(/\r\n|\r|\n/g, '\r\n')))
      continue
    }
    const slot = toSlot(part, form, values)
    pieces.push(slot)
    // The other encodings end at the start of a line by themselves.
    if (slot.encoding === 'verbatim') pieces.push(Buffer.from(SOFT_BREAK))
  }
  return pieces
}

function withLineEnd(parts: SplitText): SplitText {
  const last = parts.at(-1)
  if (typeof last !== 'string') return [...parts, '\r\n']
  return /[\r\n]$/.test(last) ? parts : [...parts.slice(0, -1), `${last}\r\n`]
}

function toSlot({ value, raw }: ValuePlace, form: BodyForm, values: FrameValues): FrameSlot {
  switch (value.kind) {
    case 'variable': {
      const isMarkup = form === 'text-of-html' && raw
      const kind = isMarkup ? 'text-of-variable' : 'variable'
      const isEscaped = form === 'html' && !raw
      return values.slotOf({ ...value, kind }, isEscaped ? 'quoted-printable-html' : 'quoted-printable-text')
    }
    case 'link':
      return values.slotOf(value, 'quoted-printable-html')
    default:
      return values.slotOf(value, 'verbatim')
  }
}

/**
 * Writes the footer of a body that has no unsubscribe link.
 *
 * The footer sets its own colours, so that it is readable whatever the colours of the message are.
 */
export function buildHtmlFooter(url: string): string {
  const box = 'margin:24px 0 0;padding:16px;background-color:#ffffff;color:#444444;font:14px/1.5 Arial,sans-serif'
  const link = `<a href="${escapeHtml(url)}" style="color:#1a4fa0;text-decoration:underline">Unsubscribe</a>`
  return `<div style="${box};text-align:center">You get this email because you are subscribed. ${link}</div>`
}

export function buildTextFooter(url: string): string {
  return `\n\nYou get this email because you are subscribed. Unsubscribe:\n${url}\n`
}
