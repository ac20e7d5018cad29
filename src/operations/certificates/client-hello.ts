/**
 * Reads the start of a TLS connection to find a validation by tls-alpn-01 (RFC 8737): its ClientHello offers the
 * protocol `acme-tls/1` alone, and names the host.
 *
 * The bytes come from anyone. Each is read once, the length is limited, and whatever is not a ClientHello in this form is
 * an ordinary connection. Known limit: a ClientHello in more than one record is one too; the servers that validate send
 * a short one.
 */
export const ALPN_PROTOCOL = 'acme-tls/1'

/** Bytes after which a connection is an ordinary one. */
export const MAX_HELLO_BYTES = 16_384

export type HelloVerdict =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'ordinary' }
  | { readonly kind: 'validation'; readonly name: string }

const ordinary: HelloVerdict = { kind: 'ordinary' }
const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEADER = 5
const HANDSHAKE_HEADER = 4
const SERVER_NAME = 0
const ALPN = 16
const HOST_NAME = 0

export function readClientHello(bytes: Buffer): HelloVerdict {
  if (bytes.length < RECORD_HEADER) return { kind: 'incomplete' }
  const length = bytes.readUInt16BE(3)
  if (bytes[0] !== HANDSHAKE_RECORD || length + RECORD_HEADER > MAX_HELLO_BYTES) return ordinary
  if (bytes.length < RECORD_HEADER + length) return { kind: 'incomplete' }
  try {
    return readHandshake(new Reader(bytes.subarray(RECORD_HEADER, RECORD_HEADER + length)))
  } catch (error) {
    if (error instanceof RangeError) return ordinary
    throw error
  }
}

function readHandshake(reader: Reader): HelloVerdict {
  if (reader.readNumber(1) !== CLIENT_HELLO) return ordinary
  reader.skip(HANDSHAKE_HEADER - 1 + 2 + 32) // length, version, random
  reader.skip(reader.readNumber(1)) // session id
  reader.skip(reader.readNumber(2)) // cipher suites
  reader.skip(reader.readNumber(1)) // compression methods
  const extensions = reader.readPart(reader.readNumber(2))
  let name: string | null = null
  let isValidation = false
  while (!extensions.isAtEnd()) {
    const type = extensions.readNumber(2)
    const content = extensions.readPart(extensions.readNumber(2))
    if (type === SERVER_NAME) name = readServerName(content)
    if (type === ALPN) isValidation = readsValidationProtocol(content)
  }
  return isValidation && name !== null ? { kind: 'validation', name } : ordinary
}

/** Reads the list of RFC 6066 section 3. Only one host name of it is in use. */
function readServerName(content: Reader): string | null {
  const list = content.readPart(content.readNumber(2))
  if (list.readNumber(1) !== HOST_NAME) return null
  return list.readText(list.readNumber(2)).toLowerCase()
}

/** RFC 7301 section 3.1. */
function readsValidationProtocol(content: Reader): boolean {
  const list = content.readPart(content.readNumber(2))
  const first = list.readText(list.readNumber(1))
  return first === ALPN_PROTOCOL && list.isAtEnd()
}

/** Reads forward. Reading beyond the end throws a RangeError. */
class Reader {
  private at = 0

  constructor(private readonly bytes: Buffer) {}

  isAtEnd(): boolean {
    return this.at === this.bytes.length
  }

  readNumber(size: 1 | 2): number {
    const value = this.bytes.readUIntBE(this.at, size)
    this.at += size
    return value
  }

  skip(count: number): void {
    if (this.at + count > this.bytes.length) throw new RangeError('the ClientHello ends early')
    this.at += count
  }

  readPart(count: number): Reader {
    const start = this.at
    this.skip(count)
    return new Reader(this.bytes.subarray(start, this.at))
  }

  readText(count: number): string {
    const start = this.at
    this.skip(count)
    return this.bytes.toString('latin1', start, this.at)
  }
}
