/**
 * mailparser, with the names of parts as the rest of the server reads header text (RFC 2047, 2231), and with the
 * content of what is text of the message and a file as well.
 *
 * Such a part is inline text with a file name. Mail programs show it and offer it as a file. One of several
 * alternatives and the text that a `multipart/related` is about are bodies, whatever name they have; a message
 * that is one text is a file only where its Content-Disposition says so (RFC 2183).
 *
 * Relies on two methods of mailparser that its types do not tell of.
 */
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { type Headers, MailParser, type MailParserOptions } from 'mailparser'
import { decodeHeaderText } from '../../mail/header-text.js'

interface Parameters {
  readonly params: Readonly<Record<string, string>>
}

/** As mailsplit gives it. */
interface SplitNode {
  filename: string | false
  readonly headers: { readonly getList: () => readonly { readonly key: string; readonly line: string }[] }
}

/** As mailparser keeps it. */
interface PartNode {
  readonly root?: boolean
  readonly parent?: PartNode
  readonly children: readonly PartNode[]
  readonly contentType: string | false
  readonly headers: Headers
  readonly isAttachment?: boolean
  /** Undoes the transfer encoding, not the charset; a multipart has none. */
  readonly decoder?: Readable
}

declare module 'mailparser' {
  interface MailParser {
    readonly libmime: {
      decodeWords: (text: string) => string
      readonly decodeHeader: (line: string) => { readonly value: string }
      readonly parseHeaderValue: (value: string) => Parameters
    }
    createNode(node: SplitNode): PartNode
  }
}

/** Text with a name; its parts come while the message is read. */
export interface NamedText {
  readonly filename: string
  readonly headers: Headers
  readonly content: Readable
}

export class PartParser extends MailParser {
  private readonly takeText: (text: NamedText) => void

  /** `take` is called before anything of the text is read. */
  constructor(options: MailParserOptions, take: (text: NamedText) => void) {
    super(options)
    this.takeText = take
    this.libmime.decodeWords = (text) => decodeHeaderText(text)
  }

  override createNode(node: SplitNode): PartNode {
    const byDisposition = this.parameterOf(node, 'content-disposition', 'filename')
    const filename = byDisposition || this.parameterOf(node, 'content-type', 'name')
    node.filename = filename || false
    const part = super.createNode(node)
    const isFile = part.root === true ? byDisposition !== '' : filename !== '' && !isBody(part)
    if (isFile && part.isAttachment === false && part.decoder !== undefined)
      this.takeText({ filename, headers: part.headers, content: part.decoder })
    return part
  }

  /** Empty: there is none. */
  private parameterOf({ headers }: SplitNode, field: string, name: string): string {
    const line = headers.getList().find(({ key }) => key === field)?.line
    if (line === undefined) return ''
    const octets = Buffer.from(this.libmime.decodeHeader(line).value, 'latin1')
    const value = isUtf8(octets) ? octets.toString() : octets.toString('latin1')
    return decodeHeaderText(this.libmime.parseHeaderValue(value).params[name] ?? '')
  }
}

function isBody(part: PartNode): boolean {
  for (let { parent } = part, child = part; parent !== undefined; child = parent, { parent } = parent) {
    if (parent.contentType === 'multipart/alternative') return true
    if (parent.contentType === 'multipart/related' && parent.children[0] === child) return true
  }
  return false
}
