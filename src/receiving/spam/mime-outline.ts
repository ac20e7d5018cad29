/**
 * What each part of a message declares itself to be: type, charset, transfer encoding.
 *
 * Nothing is decoded or nested: every line that begins with `--` and is followed by a header
 * (RFC 2046 section 5.1.1) begins a part, whichever multipart it belongs to.
 *
 * Limits: the first 100 parts within the first megabyte, 8 KB of header each.
 */
import { fieldValue, type Header, scanHeader } from '../../mail/header-fields.js'
import type { SpamPart } from './spam-message.js'

const MAX_PARTS = 100
const MAX_LINES = 5_000
const MAX_BYTES = 1_048_576
const MAX_HEADER = 8_192

export function mimeOutline(raw: Buffer, header: Header): readonly SpamPart[] {
  const found = [declared(raw, header)]
  const body = raw.subarray(0, MAX_BYTES)
  let at = body.indexOf('\n--', Math.max(header.bodyStart - 1, 0))
  for (let lines = 0; at !== -1 && found.length < MAX_PARTS && lines < MAX_LINES; lines += 1) {
    const lineEnd = body.indexOf('\n', at + 1)
    if (lineEnd === -1) break
    const part = body.subarray(lineEnd + 1, lineEnd + 1 + MAX_HEADER)
    if (/^content-/i.test(part.toString('latin1', 0, 8))) found.push(declared(part, scanHeader(part)))
    at = body.indexOf('\n--', lineEnd)
  }
  return found
}

function declared(raw: Buffer, header: Header): SpamPart {
  const value = (name: string): string => {
    const field = header.fields.find((one) => one.name === name)
    return field === undefined ? '' : fieldValue(raw, field).slice(0, 2_000).toLowerCase()
  }
  const type = value('content-type')
  return {
    contentType: /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+/.exec(type)?.[0] ?? '',
    charset: /;\s*charset\s*=\s*"?([^";\s]+)/.exec(type)?.[1] ?? '',
    encoding: /^[\w-]+/.exec(value('content-transfer-encoding'))?.[0] ?? '',
  }
}
