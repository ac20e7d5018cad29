/**
 * Reads the joined bodies of a message, and its files, as people see them. It is a view of the message's parts
 * (`structure/part-tree`). It converts nothing: HTML is not made into text, nor text into HTML.
 *
 * A text with a file name is a body and a file, because mail programs show it and offer it (`mail/file-part`). If a
 * message is shown within a message, its first fields stand above its bodies. A multipart whose parts cannot be found
 * is a text.
 *
 * Limits: a message with a header of more than 1 MB is not read. A value of a field is shown up to 8,192 characters.
 */

import { isFilePart, type PartPlace } from '../../../base/mail/file-part.js'
import { findFields, type Header, readFieldValue } from '../../../base/mail/header-fields.js'
import { decodeHeaderText } from '../../../base/mail/header-text.js'
import { escapeHtml } from '../../../base/mail/markup.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { freeMemory } from '../../../base/platform/memory/free-memory.js'
import { detectFileType } from '../../../workspaces/content/file-type.js'
import type { MimeAttachment, MimeContent, MimeField, MimeParts } from './mime-parts-protocol.js'
import { decodeText } from './structure/decode-text.js'
import { isMessage, MAX_HEADER, type Part, PartWalker } from './structure/part-tree.js'
import { decodeTransfer } from './structure/transfer-encoding.js'

/** A text, or the header of a message that is shown. */
interface Body {
  readonly kind: 'text' | 'html' | 'head'
  readonly part: Part
  /** True if the text is one of several alternatives, or within one. */
  readonly alternative: boolean
}

interface File {
  readonly part: Part
  readonly described: Omit<MimeAttachment, 'size'>
}

interface DecodedFile {
  readonly attachment: MimeAttachment
  readonly bytes: Buffer
}

interface Position {
  readonly place: PartPlace
  readonly alternative: boolean
}

const MAX_VALUE = 8_192

const typePattern = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/
const textTypes: ReadonlyMap<string, 'text' | 'html'> = new Map([
  ['text/plain', 'text'],
  ['text/html', 'html'],
  ['message/delivery-status', 'text'],
])

export class MessageContent {
  private readonly walker: PartWalker
  private readonly bodies: Body[] = []
  private readonly files: File[] = []

  /** Throws a Refusal if the header is too long. */
  constructor(
    private readonly raw: Buffer,
    private readonly header: Header,
  ) {
    if (header.end > MAX_HEADER)
      throw new Refusal('malformed-message', `a header of ${header.end} octets, more than ${MAX_HEADER}`)
    this.walker = new PartWalker(raw, header)
    this.collect(this.walker.root, { place: 'message', alternative: false })
  }

  read(): MimeContent {
    const attachments = this.files.map((file) => {
      const { attachment, bytes } = this.decodeFile(file)
      if (bytes.buffer !== this.raw.buffer) freeMemory(bytes)
      return attachment
    })
    return { ...this.readBodies(), attachments, ambiguous: this.walker.ambiguous }
  }

  /** Reads the parts and the fields of the message. */
  readParts(): MimeParts {
    const { html, text, attachments } = this.read()
    return { html, text, attachments, headers: this.readFields() }
  }

  /** `index` is the place among the attachments. Returns null if there is no such attachment. */
  readFile(index: number): DecodedFile | null {
    const file = this.files[index]
    return file === undefined ? null : this.decodeFile(file)
  }

  private decodeFile({ part, described }: File): DecodedFile {
    const bytes = this.decode(part)
    return { attachment: { ...described, size: bytes.length }, bytes }
  }

  private readFields(): MimeField[] {
    const { raw, header } = this
    return header.fields.map((field) => ({
      name: raw.toString('latin1', field.start, field.colon).trimEnd(),
      value: decodeHeaderText(readFieldValue(raw, field), MAX_VALUE),
    }))
  }

  private collect(part: Part, { place, alternative }: Position): void {
    const opened = this.walker.open(part)
    if (opened === null) {
      this.collectLeaf(part, { place, alternative })
      return
    }
    const isAlternative = alternative || part.type === 'multipart/alternative'
    for (const [index, child] of opened.parts.entries()) {
      if (isMessage(part.type)) this.bodies.push({ kind: 'head', part: child, alternative })
      const isBody = place === 'body' || isAlternative || (part.type === 'multipart/related' && index === 0)
      this.collect(child, { place: isBody ? 'body' : 'other', alternative: isAlternative })
    }
  }

  private collectLeaf(part: Part, { place, alternative }: Position): void {
    const { content } = part
    const type = typeOfLeaf(part)
    const kind = content.disposition === '' || content.disposition === 'inline' ? textTypes.get(type) : undefined
    if (kind !== undefined) this.bodies.push({ kind, part, alternative })
    if (kind !== undefined && place === 'body') return
    const { dispositionName, typeName } = content
    if (kind !== undefined && !isFilePart({ disposition: '', dispositionName, typeName }, place)) return
    const described = {
      filename: dispositionName || typeName || null,
      content_type: typePattern.test(type) ? type : 'application/octet-stream',
      content_id: content.contentId || null,
      disposition: kind !== undefined || content.disposition === 'inline' ? 'inline' : 'attachment',
    } as const
    this.files.push({ part, described })
  }

  /**
   * Only alternatives have bodies of both kinds for the same text. A body of one kind elsewhere has an empty place
   * among those of the other kind. A body is null if there is none, or if it is blank.
   */
  private readBodies(): Pick<MimeContent, 'html' | 'text'> {
    const [html, text]: [string[], string[]] = [[], []]
    const [hasHtml, hasText] = [this.hasBody('html'), this.hasBody('text')]
    for (const { kind, part, alternative } of this.bodies) {
      if (kind === 'head') {
        const lines = this.headOf(part)
        if (hasHtml) html.push(`<p>${lines.map(escapeHtml).join('<br/>\n')}</p>`)
        if (hasText) text.push(`\n${lines.join('\n')}\n`)
        continue
      }
      const content = decodeText(this.decode(part), part.content)
      if (content === '') continue
      if (!alternative && kind === 'html' && hasText) text.push('')
      if (!alternative && kind === 'text' && hasHtml) html.push('')
      if (kind === 'html') html.push(content)
      else text.push(content)
    }
    return { html: this.toBody(html, '<br/>\n'), text: this.toBody(text, '\n') }
  }

  private hasBody(kind: Body['kind']): boolean {
    return this.bodies.some((body) => body.kind === kind)
  }

  private headOf({ header, start }: Part): readonly string[] {
    const bytes = this.raw.subarray(start)
    return ['From', 'Subject', 'Date', 'To', 'Cc', 'Bcc'].flatMap((name) => {
      const field = findFields(header, name.toLowerCase()).at(-1)
      return field === undefined ? [] : [`${name}: ${decodeHeaderText(readFieldValue(bytes, field))}`]
    })
  }

  /**
   * The line end of a body's last line belongs to the boundary after it. If the body is the entire message, the line
   * end belongs to the message, and is no part of the text either.
   */
  private toBody(joined: readonly string[], separator: string): string | null {
    const body = joined.join(separator)
    if (body.trim() === '') return null
    const { encoding } = this.walker.root.content
    const isWhole = this.bodies[0]?.part === this.walker.root && encoding !== 'base64' && encoding !== 'uuencode'
    return isWhole ? body.replace(/\n$/, '') : body
  }

  private decode({ bodyStart, end, content }: Part): Buffer {
    return decodeTransfer(this.raw.subarray(bodyStart, end), content.encoding)
  }
}

/** Returns the type of a leaf. A uuencoded message is a file. Without a declared type, the file name decides. */
function typeOfLeaf({ type, content }: Part): string {
  if (isMessage(type) && content.encoding === 'uuencode') return 'application/octet-stream'
  if (type.startsWith('multipart/')) return 'text/plain'
  if (content.type !== '' || type !== 'text/plain') return type
  const name = content.dispositionName
  if (/[^.]\.[^.]+$/.test(name)) return detectFileType(null, name)
  return content.disposition === 'attachment' ? 'application/octet-stream' : type
}
