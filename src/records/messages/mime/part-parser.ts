/**
 * Extends mailparser: names of parts are decoded as all header text here (RFC 2047, 2231), and text parts with a file
 * name are delivered as attachments too.
 *
 * Mail programs show inline text with a file name and offer it as a file. Which text is a file: `mail/file-part`.
 *
 * Charsets are those of `mail/charset`, also of texts that declare none.
 *
 * Relies on five methods of mailparser that its types do not declare.
 */
import { isUtf8 } from 'node:buffer'
import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { type Headers, MailParser, type MailParserOptions } from 'mailparser'
import { decodeCharset, encodingOf, UNDECLARED } from '../../../base/mail/charset.js'
import { isFilePart } from '../../../base/mail/file-part.js'
import { decodeHeaderText, decodeParameterText } from '../../../base/mail/header-text.js'

interface Parameters {
  readonly value: string | false
  readonly params: Readonly<Record<string, string>>
}

/** A part as mailsplit delivers it. */
interface SplitNode {
  filename: string | false
  readonly parentNode: { readonly contentType: string | false } | false
  readonly headers: { readonly getList: () => readonly HeaderLine[] }
}

interface HeaderLine {
  readonly key: string
  readonly line: string
}

/** A part as mailparser stores it. */
interface PartNode {
  readonly root?: boolean
  readonly parent?: PartNode
  readonly children: readonly PartNode[]
  readonly contentType: string | false
  readonly headers: Headers
  readonly isAttachment?: boolean
  /** The declared value; absent: it is not said, or the part is a multipart. */
  charset?: string
  /** Decodes the transfer encoding, not the charset; a multipart has none. */
  readonly decoder?: Readable
}

interface BodyDecoder {
  readonly decodeStream: (charset: string) => Readable
}

declare module 'mailparser' {
  interface MailParser {
    readonly libmime: {
      decodeWords: (text: string) => string
      decodeWord: (charset: string, encoding: string, text: string) => string
      readonly decodeHeader: (line: string) => { readonly value: string }
      readonly parseHeaderValue: (value: string) => Parameters
    }
    createNode(node: SplitNode): PartNode
    getDecoder(): BodyDecoder
    processHeaders(lines: readonly HeaderLine[]): Headers
  }
}

/** Text with a file name; its content arrives while the message is read. */
export interface NamedText {
  readonly filename: string
  readonly headers: Headers
  readonly content: Readable
}

export class PartParser extends MailParser {
  private readonly takeText: (text: NamedText) => void
  /** The header that is read belongs to a message in the message, which is shown with its author, subject and so on. */
  private isShown = false

  /** `take` is called before any of the text is read. */
  constructor(options: MailParserOptions, take: (text: NamedText) => void) {
    super(options)
    this.takeText = take
    this.libmime.decodeWords = (text) => decodeHeaderText(text)
    this.libmime.decodeWord = (charset, _encoding, text) => decodeParameterText(text, charset)
  }

  override getDecoder(): BodyDecoder {
    return { decodeStream: (charset) => new CharsetStream(charset) }
  }

  override createNode(node: SplitNode): PartNode {
    this.isShown = node.parentNode !== false && node.parentNode.contentType === 'message/rfc822'
    const dispositionName = this.parameterOf(node, 'content-disposition', 'filename')
    const typeName = this.parameterOf(node, 'content-type', 'name')
    const filename = dispositionName || typeName
    node.filename = filename || false
    const part = super.createNode(node)
    // mailparser would take it for UTF-8, valid or not.
    if (part.charset === undefined || encodingOf(part.charset) === UNDECLARED) part.charset = UNDECLARED
    const place = part.root === true ? 'message' : isBody(part) ? 'body' : 'other'
    const isFile = isFilePart({ disposition: '', dispositionName, typeName }, place)
    if (isFile && part.isAttachment === false && part.decoder !== undefined)
      this.takeText({ filename, headers: part.headers, content: part.decoder })
    return part
  }

  /** Of the others, addresses above all are slow to read, and nothing asks for them. */
  override processHeaders(lines: readonly HeaderLine[]): Headers {
    return super.processHeaders(this.isShown ? lines : lines.filter(({ key }) => key.startsWith('content-')))
  }

  /** Empty if there is none. */
  private parameterOf({ headers }: SplitNode, field: string, name: string): string {
    const line = headers.getList().find(({ key }) => key === field)?.line
    if (line === undefined) return ''
    const octets = Buffer.from(this.libmime.decodeHeader(line).value, 'latin1')
    const value = isUtf8(octets) ? octets.toString() : octets.toString('latin1')
    return decodeHeaderText(this.libmime.parseHeaderValue(value).params[name] ?? '')
  }
}

/** The text of a body in UTF-8. It is decoded as a whole, since what it declares may be wrong or missing. */
class CharsetStream extends Transform {
  private readonly chunks: Buffer[] = []

  constructor(private readonly charset: string) {
    super()
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.chunks.push(chunk)
    done()
  }

  override _flush(done: TransformCallback): void {
    const octets = Buffer.concat(this.chunks)
    const text = decodeCharset(octets, this.charset) ?? decodeCharset(octets, UNDECLARED) ?? ''
    done(null, Buffer.from(text))
  }
}

function isBody(part: PartNode): boolean {
  for (let { parent } = part, child = part; parent !== undefined; child = parent, { parent } = parent) {
    if (parent.contentType === 'multipart/alternative') return true
    if (parent.contentType === 'multipart/related' && parent.children[0] === child) return true
  }
  return false
}
