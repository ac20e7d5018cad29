/**
 * Finds the HTML bodies of a MIME message with their places (RFC 2046), or why the message must stay as it is. It is a
 * strict view of the message's parts (`messages/mime/structure/part-tree`).
 *
 * It refuses what readers could take apart differently. The whole message is malformed if a boundary is missing, occurs
 * after the last part or begins another line, if a Content-Type occurs twice, or if a part has no empty line after its
 * header. Files (`mail/file-part`), message/*, multipart/report and similar types are not bodies, nor are the parts of
 * multipart/related except its root.
 *
 * Limits: 10 levels, 500 parts, 128 KB of their headers, 64 MB in all passes over multiparts. A message that exceeds
 * them is malformed too.
 */
import { isFilePart, type PartPlace } from '../../base/mail/file-part.js'
import type { Header } from '../../base/mail/header-fields.js'
import { type Part, PartWalker } from '../../records/messages/mime/structure/part-tree.js'
import type { TrackingSkip } from './track-email.js'

const limits = { parts: 499, depth: 10, searched: 64 * 1_048_576, headers: 131_072 }

/** Thrown to end the search, because the message must stay as it is. */
class Untouchable extends Error {}

export function findHtmlParts(raw: Buffer, header: Header): readonly Part[] | TrackingSkip {
  const html = new HtmlSearch(new PartWalker(raw, header, limits))
  try {
    html.search(html.walker.root, 'message')
  } catch (error) {
    if (error instanceof Untouchable) return 'malformed'
    throw error
  }
  return html.found.length === 0 && html.skipped !== null ? html.skipped : html.found
}

class HtmlSearch {
  readonly found: Part[] = []
  /** Says why there may be HTML that is not tracked. */
  skipped: TrackingSkip | null = null

  constructor(readonly walker: PartWalker) {}

  search(part: Part, place: PartPlace): void {
    const { type, content } = part
    if (content.ambiguous) throw new Untouchable()
    if (type === 'text/html') this.searchHtml(part, place)
    else if (type.startsWith('multipart/')) this.searchMultipart(part, place)
    else if (/^application\/(?:x-)?pkcs7-mime$/.test(type))
      this.skipped ??= /signed/i.test(content.parameter('smime-type')) ? 'signed' : 'encrypted'
  }

  private searchHtml(part: Part, place: PartPlace): void {
    const { disposition, dispositionName, typeName } = part.content
    if (isFilePart({ disposition, dispositionName, typeName }, place)) return
    if (!part.isExact) throw new Untouchable()
    this.found.push(part)
  }

  private searchMultipart(part: Part, place: PartPlace): void {
    const { type } = part
    if (type === 'multipart/signed') this.skipped ??= 'signed'
    if (type === 'multipart/encrypted') this.skipped ??= 'encrypted'
    if (!/^multipart\/(?:alternative|mixed|related)$/.test(type)) return
    const opened = part.isExact ? this.walker.open(part) : null
    if (opened === null || !opened.isExact || opened.parts.some(lacksEnd)) throw new Untouchable()
    const inner = type !== 'multipart/mixed' || place === 'body' ? 'body' : 'other'
    for (const child of type === 'multipart/related' ? findRoot(part, opened.parts) : opened.parts)
      this.search(child, inner)
  }
}

function lacksEnd({ header, start, end }: Part): boolean {
  return header.bodyStart === header.end && end > start
}

/** Finds the root: the part that `start` names, else the first (RFC 2387 section 3.2). */
function findRoot({ content }: Part, children: readonly Part[]): readonly Part[] {
  const start = content.parameter('start').replace(/^<|>$/g, '')
  if (start === '') return children.slice(0, 1)
  const root = children.find((child) => child.content.contentId === start)
  if (root === undefined) throw new Untouchable()
  return [root]
}
