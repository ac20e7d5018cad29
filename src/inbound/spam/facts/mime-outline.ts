/**
 * Reads what each part of a message declares: type, charset, transfer encoding, whether it is attached; and the content of
 * attached web pages, because a page asks for what its message does not say. It is a view of the parts that all others see
 * (`messages/mime/structure/part-tree`), also of those in an attached message, which one click opens.
 *
 * Limits: the first 100 parts; three pages, the first 96 KB of each as written.
 */

import type { Header } from '../../../base/mail/header-fields.js'
import { isMessage, type Part, PartWalker } from '../../../records/messages/mime/structure/part-tree.js'
import { decodeTransfer } from '../../../records/messages/mime/structure/transfer-encoding.js'
import type { SpamPart } from './spam-message.js'

const MAX_PARTS = 100
const MAX_PAGES = 3
const MAX_PAGE = 98_304

interface MimeOutline {
  /** The message itself first, then the parts in it, in their order. */
  readonly parts: readonly SpamPart[]
  readonly pages: readonly string[]
}

export function scanMimeOutline(raw: Buffer, header: Header): MimeOutline {
  const outline = new OutlineReader(new PartWalker(raw, header))
  outline.readTree(outline.walker.root)
  const { parts, pages } = outline
  return { parts, pages }
}

class OutlineReader {
  readonly parts: SpamPart[] = []
  readonly pages: string[] = []

  constructor(readonly walker: PartWalker) {}

  readTree(part: Part): void {
    this.parts.push(this.readPart(part))
    this.readChildren(part)
  }

  private readChildren(part: Part): void {
    const isMail = isMessage(part.type)
    for (const child of (isMail ? this.walker.openMessage(part) : this.walker.open(part))?.parts ?? []) {
      if (this.parts.length === MAX_PARTS) return
      // The header of a message in a message is no header of a part.
      if (isMail) this.readChildren(child)
      else this.readTree(child)
    }
  }

  private readPart(part: Part): SpamPart {
    const { content } = part
    const name = content.dispositionName || content.typeName
    // The message itself is a body, whatever it is named.
    const attached = content.disposition === 'attachment' || name !== ''
    if (part.depth > 0 && attached && this.pages.length < MAX_PAGES && isWebPage(content.type, name))
      this.pages.push(this.readPage(part))
    const charset = content.parameter('charset').trim().toLowerCase()
    return { contentType: content.type, charset, encoding: content.encoding, attached }
  }

  private readPage({ bodyStart, end, content }: Part): string {
    const written = this.walker.raw.subarray(bodyStart, Math.min(end, bodyStart + MAX_PAGE))
    return decodeTransfer(written, content.encoding).toString()
  }
}

function isWebPage(contentType: string, name: string): boolean {
  return (
    /^(?:text\/html|application\/xhtml\+xml|image\/svg\+xml)$/.test(contentType) ||
    /\.(?:s?html?|xht(?:ml)?|svg)$/i.test(name)
  )
}
