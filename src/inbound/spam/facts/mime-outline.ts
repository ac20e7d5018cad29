/**
 * Reads what each part of a message declares: type, charset, transfer encoding, whether it is attached; and the content
 * of attached web pages, because a page asks for what its message does not say.
 *
 * Why not from `messages/mime`: the mail parser hides declarations that it corrects, and sees no parts in a
 * message whose boundaries are wrong, which is what these rules look for. So nesting is ignored: every line that
 * begins with `--` and is followed by a header (RFC 2046 section 5.1.1) begins a part, whichever multipart it
 * belongs to, and its content ends at the next such line.
 *
 * Limits: the first 100 parts within the first megabyte, 8 KB of header each; three pages, the first 96 KB of each
 * as written.
 */

import { fileNameOf } from '../../../base/mail/file-part.js'
import { type Header, readFieldValue, scanHeader } from '../../../base/mail/header-fields.js'
import { readQuotedPrintable } from '../../../base/mail/quoted-printable.js'
import type { SpamPart } from './spam-message.js'

const MAX_PARTS = 100
const MAX_LINES = 5_000
const MAX_BYTES = 1_048_576
const MAX_HEADER = 8_192
const MAX_VALUE = 2_000
const MAX_PAGES = 3
const MAX_PAGE = 98_304

interface MimeOutline {
  /** The message itself first, then the parts in it, in their order. */
  readonly parts: readonly SpamPart[]
  readonly pages: readonly string[]
}

interface DeclaredPart {
  readonly part: SpamPart
  /** An attached page. */
  readonly isAttachedPage: boolean
}

export function scanMimeOutline(raw: Buffer, header: Header): MimeOutline {
  const parts = [readDeclaredPart(raw, header).part]
  const pages: string[] = []
  const body = raw.subarray(0, MAX_BYTES)
  let at = body.indexOf('\n--', Math.max(header.bodyStart - 1, 0))
  for (let lines = 0; at !== -1 && parts.length < MAX_PARTS && lines < MAX_LINES; lines += 1) {
    const lineEnd = body.indexOf('\n', at + 1)
    if (lineEnd === -1) break
    const next = body.indexOf('\n--', lineEnd)
    const start = body.subarray(lineEnd + 1, lineEnd + 1 + MAX_HEADER)
    if (/^content-/i.test(start.toString('latin1', 0, 8))) {
      const head = scanHeader(start)
      const { part, isAttachedPage } = readDeclaredPart(start, head)
      parts.push(part)
      const content = body.subarray(lineEnd + 1 + head.bodyStart, next === -1 ? undefined : next)
      if (isAttachedPage && pages.length < MAX_PAGES)
        pages.push(decodeContent(content.subarray(0, MAX_PAGE), part.encoding))
    }
    at = next
  }
  return { parts, pages }
}

function readDeclaredPart(raw: Buffer, header: Header): DeclaredPart {
  const value = (name: string): string => {
    const field = header.fields.find((one) => one.name === name)
    return field === undefined ? '' : readFieldValue(raw, field).slice(0, MAX_VALUE).toLowerCase()
  }
  const type = value('content-type')
  const disposition = value('content-disposition')
  const contentType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+/.exec(type)?.[0] ?? ''
  const name = fileNameOf(`;${disposition}`) || fileNameOf(type)
  const attached = /^attachment\b/.test(disposition) || name !== ''
  return {
    part: {
      contentType,
      charset: /;\s*charset\s*=\s*"?([^";\s]+)/.exec(type)?.[1] ?? '',
      encoding: /^[\w-]+/.exec(value('content-transfer-encoding'))?.[0] ?? '',
      attached,
    },
    isAttachedPage: attached && isWebPage(contentType, name),
  }
}

function isWebPage(contentType: string, name: string): boolean {
  return (
    /^(?:text\/html|application\/xhtml\+xml|image\/svg\+xml)$/.test(contentType) ||
    /\.(?:s?html?|xht(?:ml)?|svg)$/.test(name)
  )
}

function decodeContent(content: Buffer, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(content.toString('latin1'), 'base64').toString('utf8')
  const text = content.toString('utf8')
  if (encoding !== 'quoted-printable') return text
  return readQuotedPrintable(text)
}
