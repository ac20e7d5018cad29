/**
 * The HTML of a message as a document for display, with its inline pictures in it.
 *
 * A picture that the HTML names by its Content-ID becomes a `data:` URL if it is small. Everything else stays as it is,
 * but for frames and links (`disarm-html.ts`): the frame in which it is shown loads nothing and runs nothing.
 *
 * It runs in the processes that take messages apart. The document is never longer than the limits below together,
 * whatever the HTML names and how often: they are looked at before a picture is read, and before it is inserted.
 */
import { scanHeader } from '../../../base/mail/header-fields.js'
import { html as markup } from '../../../base/mail/markup.js'
import { htmlChange, type TrackedHtml } from '../../../outbound/tracking/restore-html.js'
import { MessageContent } from '../../../records/messages/mime/message-content.js'
import type { MessageRenderer, MimeAttachment } from '../../../records/messages/mime/mime-parts-protocol.js'
import { disarmHtml } from './disarm-html.js'
import { type PreviewScheme, showInScheme } from './preview-scheme.js'

/** Characters of HTML. */
const MAX_HTML = 1_000_000
const MAX_IMAGES = 10
/** Bytes of one picture, and of all. */
const MAX_IMAGE = 262_144
const MAX_IMAGES_BYTES = 1_048_576
/** Characters of the URLs of pictures where they are named again. */
const MAX_REPEATED = 1_048_576
const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** The bytes are a message, or HTML alone. */
export type DisplayFacts =
  | { readonly kind: 'message'; readonly tracked: TrackedHtml | null }
  | { readonly kind: 'html'; readonly scheme: PreviewScheme }

/** The processes import it under this name. */
export const messageRenderer: MessageRenderer<DisplayFacts> = {
  module: new URL(import.meta.url),
  render: (raw, facts) =>
    Buffer.from(
      facts.kind === 'html'
        ? showInScheme(disarmHtml(raw.toString()), facts.scheme)
        : renderMessage(raw, facts.tracked),
    ),
}

export function renderNote(text: string): string {
  return markup`<!doctype html><meta charset="utf-8"><p style="font: 16px sans-serif">${text}</p>`.text
}

function renderMessage(raw: Buffer, tracked: TrackedHtml | null): string {
  const content = new MessageContent(raw, scanHeader(raw))
  const { html, attachments } = content.read()
  if (html === null) return renderNote('This message has no HTML.')
  const submitted = tracked === null || html.length > MAX_HTML ? html : htmlChange.change(html, tracked)
  if (submitted.length > MAX_HTML) return renderNote('The HTML of this message is too long to be shown here.')
  const shown = disarmHtml(submitted)
  const chosen = chooseImages(attachments, namedIn(shown))
  return chosen.size === 0 ? shown : insertImages(shown, toDataUrls(chosen, content))
}

/** A URL with a Content-ID (RFC 2392). */
const cidForm = /\bcid:([^\s"'<>()]{1,250})/gi

function namedIn(html: string): ReadonlySet<string> {
  const named = new Set<string>()
  for (const [, id = ''] of html.matchAll(cidForm)) named.add(decodeId(id))
  return named
}

/** Places of attachments by the Content-ID that the HTML names; of several with one id the first. */
function chooseImages(attachments: readonly MimeAttachment[], named: ReadonlySet<string>): ReadonlyMap<string, number> {
  const chosen = new Map<string, number>()
  let bytes = 0
  for (const [place, { content_id: id, content_type: type, size }] of attachments.entries()) {
    if (id === null || !named.has(id) || chosen.has(id) || !imageTypes.has(type) || size > MAX_IMAGE) continue
    bytes += size
    if (chosen.size === MAX_IMAGES || bytes > MAX_IMAGES_BYTES) break
    chosen.set(id, place)
  }
  return chosen
}

function toDataUrls(chosen: ReadonlyMap<string, number>, content: MessageContent): ReadonlyMap<string, string> {
  return new Map(
    [...chosen].map(([id, place]) => {
      const file = content.readFile(place)
      return [id, `data:${file?.attachment.content_type};base64,${file?.bytes.toString('base64') ?? ''}`]
    }),
  )
}

/** Inserts each picture where it is named first, and again while there is room. */
function insertImages(html: string, urls: ReadonlyMap<string, string>): string {
  const inserted = new Set<string>()
  let room = MAX_REPEATED
  return html.replace(cidForm, (whole, written: string) => {
    const id = decodeId(written)
    const url = urls.get(id)
    if (url === undefined) return whole
    if (inserted.has(id)) {
      if (url.length > room) return whole
      room -= url.length
    }
    inserted.add(id)
    return url
  })
}

/** Percent-encoded octets as UTF-8. An exception for each malformed one would take most of a second. */
function decodeId(id: string): string {
  if (!id.includes('%')) return id
  const octets = Buffer.from(id).toString('latin1')
  const decoded = octets.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(decoded, 'latin1').toString()
}
