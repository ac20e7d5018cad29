/**
 * DNS names: octets on the wire (RFC 1035 section 3.1, RFC 2181 section 11), text in the program. Pure.
 *
 * The text is canonical: lower case (ASCII only, RFC 4343), no final dot, and each octet that is unusual in host names
 * as `\ddd`, including a dot within a label. Each name therefore has exactly one text, and untrusted names are harmless
 * in logs and header fields.
 *
 * Text from outside, such as the expansion of an SPF macro, may have any characters; they mean their octets in UTF-8.
 * Known limit: a backslash followed by three digits in such text is read as one octet.
 */

const MAX_NAME_OCTETS = 255
const MAX_LABEL_OCTETS = 63
/** Characters, if each octet is written as `\ddd`. */
const MAX_TEXT_LENGTH = 4 * MAX_NAME_OCTETS
/** RFC 1035 section 4.1.4: a name has no more labels than this, so it needs no more pointers. */
const MAX_POINTERS = 127

const plainName = /^[a-z0-9_/*+-]+(?:\.[a-z0-9_/*+-]+)*$/
const namePart = /\\(\d{3})|\.|[^\\.]+|\\/g

/** A text too long for any name is returned as it is. */
export function toCanonicalName(name: string): string {
  return name.length > MAX_TEXT_LENGTH || plainName.test(name)
    ? name
    : textOf(labelsOf(name.endsWith('.') ? name.slice(0, -1) : name))
}

/** Whether a query can hold the canonical `name`. */
export function isQueryable(name: string): boolean {
  if (name.length > MAX_TEXT_LENGTH) return false
  const labels = labelsOf(name)
  const size = labels.reduce((sum, { length }) => sum + length + 1, 1)
  return size <= MAX_NAME_OCTETS && labels.every(({ length }) => length > 0 && length <= MAX_LABEL_OCTETS)
}

/** The name in the form of a query. */
export function encodeName(name: string): Buffer {
  return Buffer.concat([...labelsOf(name).flatMap((label) => [Buffer.of(label.length), label]), Buffer.of(0)])
}

/** The name at `start` of `message`, and the offset after it. Throws RangeError if it is malformed. */
export function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: Buffer[] = []
  let at = start
  let end = -1
  for (let pointers = 0, octets = 0; ; ) {
    const size = message.readUInt8(at)
    if (size >= 0xc0) {
      const to = message.readUInt16BE(at) & 0x3fff
      pointers += 1
      if (pointers > MAX_POINTERS || to >= at) throw new RangeError('a name points in circles')
      if (end === -1) end = at + 2
      at = to
      continue
    }
    octets += size + 1
    if (size > MAX_LABEL_OCTETS || octets > MAX_NAME_OCTETS || at + size >= message.length)
      throw new RangeError('no name')
    if (size === 0) return { name: textOf(labels), end: end === -1 ? at + 1 : end }
    labels.push(message.subarray(at + 1, at + 1 + size))
    at += size + 1
  }
}

function labelsOf(name: string): readonly Buffer[] {
  if (name === '') return []
  const labels: Buffer[][] = [[]]
  for (const [text, octet] of name.matchAll(namePart)) {
    if (text === '.') labels.push([])
    else labels.at(-1)?.push(octet !== undefined && Number(octet) < 256 ? Buffer.of(Number(octet)) : Buffer.from(text))
  }
  return labels.map((parts) => Buffer.concat(parts))
}

function textOf(labels: readonly Buffer[]): string {
  return labels
    .map((label) =>
      label
        .toString('latin1')
        .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
        .replace(/[^a-z0-9_/*+-]/g, (odd) => `\\${String(odd.charCodeAt(0)).padStart(3, '0')}`),
    )
    .join('.')
}
