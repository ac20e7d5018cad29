/**
 * The HTML of a stored message for display, with its inline pictures in it.
 *
 * A picture that the HTML names by its Content-ID becomes a `data:` URL if it is small. Everything else stays as it is,
 * but for frames and links (`disarm-html.ts`): the frame in which it is shown loads nothing and runs nothing.
 */
import type { MessageReader } from '../../messages/mime/mime-parts.js'
import type { MimeAttachment, ReadableParts } from '../../messages/mime/mime-parts-protocol.js'
import { disarmHtml } from './disarm-html.js'

/** Bytes of HTML as JSON; larger ones would block the main thread. */
const MAX_HTML = 1_000_000
const MAX_IMAGES = 10
/** Bytes of one picture, and of all. */
const MAX_IMAGE = 262_144
const MAX_IMAGES_BYTES = 1_048_576
const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export interface StoredMessage {
  readonly workspaceId: string
  /** Undefined: the bytes are no longer stored. */
  readonly raw: () => Buffer | undefined
  /** The HTML as the sender made it. */
  readonly restore: (html: string) => string
}

export type MessageHtml =
  | { readonly kind: 'html'; readonly html: string }
  | { readonly kind: 'none' | 'too-long' | 'unreadable' }

export async function readMessageHtml(
  mime: Pick<MessageReader, 'readForDisplay' | 'readAttachment'>,
  { workspaceId, raw, restore }: StoredMessage,
): Promise<MessageHtml> {
  const result = await mime.readForDisplay(workspaceId, raw)
  if (result.kind !== 'readable') return { kind: 'unreadable' }
  const html = parseHtml(result.parts)
  if (typeof html !== 'string') return html
  const restored = disarmHtml(restore(html))
  const images = await readImages(mime, { workspaceId, raw }, result.parts.attachments, restored)
  return { kind: 'html', html: images.size === 0 ? restored : insertImages(restored, images) }
}

function parseHtml({ html }: ReadableParts): string | MessageHtml {
  if (html === null) return { kind: 'none' }
  if (html.length > MAX_HTML) return { kind: 'too-long' }
  const text: unknown = JSON.parse(html.toString())
  return typeof text === 'string' ? text : { kind: 'none' }
}

/** `data:` URLs by the Content-ID that the HTML names. */
async function readImages(
  mime: Pick<MessageReader, 'readAttachment'>,
  { workspaceId, raw }: Pick<StoredMessage, 'workspaceId' | 'raw'>,
  attachments: readonly MimeAttachment[],
  html: string,
): Promise<ReadonlyMap<string, string>> {
  const named = new Set([...html.matchAll(cidForm)].map(([, id = '']) => decodeId(id)))
  const images = new Map<string, string>()
  let bytes = 0
  for (const [place, { content_id: id, content_type: type, size }] of attachments.entries()) {
    if (id === null || !named.has(id) || !imageTypes.has(type) || size > MAX_IMAGE) continue
    bytes += size
    if (images.size === MAX_IMAGES || bytes > MAX_IMAGES_BYTES) break
    const found = await mime.readAttachment(workspaceId, raw, place)
    if (found.kind === 'attachment') images.set(id, `data:${type};base64,${found.bytes.toString('base64')}`)
  }
  return images
}

/** A URL with a Content-ID (RFC 2392). */
const cidForm = /\bcid:([^\s"'<>()]{1,250})/gi

function insertImages(html: string, images: ReadonlyMap<string, string>): string {
  return html.replace(cidForm, (whole, id: string) => images.get(decodeId(id)) ?? whole)
}

function decodeId(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
