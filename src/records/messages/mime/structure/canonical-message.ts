/**
 * A message of unusual structure, written anew so that mailparser sees what a generous parser sees: one type and one
 * encoding for each part, an empty line after each header, delimiters that occur nowhere else. Contents are not copied.
 */
import { randomBytes } from 'node:crypto'
import { MailParser } from 'mailparser'
import { encodeBase64Lines } from '../../../../base/mail/base64-lines.js'
import { type Header, type HeaderField, readFieldValue } from '../../../../base/mail/header-fields.js'
import { type DeclaredContent, isPlainlyNamed } from './declared-content.js'
import { isMessage, type Part, PartTreeReader } from './part-tree.js'
import { decodeUuencoded } from './uuencode.js'

interface CanonicalMessage {
  /** The message itself if mailparser reads it as other programs do. */
  readonly pieces: readonly Buffer[]
  /** Programs differ in which parts it has or in how they are decoded. */
  readonly ambiguous: boolean
}

export function toCanonicalMessage(raw: Buffer): CanonicalMessage {
  const { root, odd, ambiguous } = new PartTreeReader(raw, isReadAlike).read()
  if (!odd) return { pieces: [raw], ambiguous }
  return { pieces: [...new CanonicalWriter(raw).write(root)], ambiguous }
}

const { libmime } = new MailParser()
const contentFields = new Set(['content-type', 'content-transfer-encoding'])

function isReadAlike(raw: Buffer, header: Header, content: DeclaredContent): boolean {
  const fields = header.fields.filter(({ name }) => name.startsWith('content-'))
  const only = (name: string): HeaderField | undefined => fields.find((field) => field.name === name)
  const written = [...contentFields].every((name) => fields.filter((field) => field.name === name).length <= 1)
  if (!written || !fields.every((field) => isPlainlyNamed(raw, field))) return false
  const [type, encoding] = [only('content-type'), only('content-transfer-encoding')]
  const word = encoding === undefined ? '' : readFieldValue(raw, encoding).toLowerCase()
  if (content.encoding === '' ? /^(?:base64|quoted-printable)$/.test(word) : word !== content.encoding) return false
  if (type === undefined) return true
  const { value, params } = libmime.parseHeaderValue(readFieldValue(raw, type))
  const boundary = params['boundary'] ?? ''
  const isAlike = String(value).toLowerCase().trim() === content.type && (params['charset'] ?? '') === content.charset
  return isAlike && (!content.type.startsWith('multipart/') || boundary === (content.boundaries[0] ?? ''))
}

class CanonicalWriter {
  constructor(private readonly raw: Buffer) {}

  *write(part: Part): Generator<Buffer> {
    const { children } = part
    if (isMessage(part.type) && children !== null) {
      const inline = part.content.disposition === '' ? '\r\nContent-Disposition: inline' : ''
      yield* this.writeHeader(part, `message/rfc822${inline}`, '')
      for (const child of children) yield* this.write(child)
    } else if (children !== null) {
      // Sixteen random octets: no content can contain it on purpose.
      const boundary = randomBytes(16).toString('hex')
      yield* this.writeHeader(part, `${part.type}; boundary="${boundary}"`, '')
      for (const child of children) {
        yield Buffer.from(`--${boundary}\r\n`)
        yield* this.write(child)
        yield Buffer.from('\r\n')
      }
      yield Buffer.from(`--${boundary}--\r\n`)
    } else yield* this.writeLeaf(part)
  }

  private *writeLeaf(part: Part): Generator<Buffer> {
    const { content, bodyStart, end } = part
    const body = this.raw.subarray(bodyStart, end)
    const decoded = content.encoding === 'uuencode' ? decodeUuencoded(body) : null
    const encoding = decoded !== null ? 'base64' : content.encoding === 'uuencode' ? '' : content.encoding
    yield* this.writeHeader(part, typeOfLeaf(part), encoding)
    yield decoded === null ? body : encodeBase64Lines(decoded)
  }

  /** `type` null: the part has none. */
  private *writeHeader({ header, start }: Part, type: string | null, encoding: string): Generator<Buffer> {
    for (const field of header.fields) {
      if (contentFields.has(field.name)) continue
      yield Buffer.from(`${this.raw.toString('latin1', start + field.start, start + field.colon).trimEnd()}:`, 'latin1')
      yield this.raw.subarray(start + field.colon + 1, start + field.end)
      if (this.raw[start + field.end - 1] !== 0x0a) yield Buffer.from('\r\n')
    }
    if (type !== null) yield Buffer.from(`Content-Type: ${type}\r\n`)
    if (encoding !== '') yield Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n`)
    yield Buffer.from('\r\n')
  }
}

/** People see the text of a multipart whose parts cannot be found. A uuencoded message is a file. */
function typeOfLeaf({ type, content }: Part): string | null {
  if (isMessage(type) && content.encoding === 'uuencode') return 'application/octet-stream'
  return type.startsWith('multipart/') ? 'text/plain' : content.canonicalType
}
