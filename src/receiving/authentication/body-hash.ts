/**
 * SHA-256 of a body that is in memory as a whole and has CRLF as its only line ends, by either canonicalization of RFC
 * 6376 section 3.4. mailauth's own hashers read each byte in JavaScript, and look for MIME parts, which nothing here needs.
 *
 * The members are those that mailauth calls.
 */
import { createHash } from 'node:crypto'
import type { BodyHasher } from 'mailauth/lib/dkim/dkim-verifier.js'
import { hashRelaxedBody } from '../../domains/dkim/canonical.js'

export class WholeBodyHash implements BodyHasher {
  private body: Buffer = Buffer.alloc(0)

  constructor(private readonly canonicalization: string) {}

  /** Called once at most, with the whole body. */
  update(body: Buffer): void {
    this.body = body
  }

  digest(): string {
    return this.canonicalization === 'relaxed' ? hashRelaxedBody(this.body, 0) : hashSimpleBody(this.body)
  }

  setContentType(): void {}

  getMimeStructureStart(): number {
    return -1
  }
}

/** RFC 6376 section 3.4.3: no empty lines at the end, and one CRLF. */
function hashSimpleBody(body: Buffer): string {
  let end = body.length
  while (end > 1 && body[end - 2] === CR && body[end - 1] === LF) end -= 2
  return createHash('sha256').update(body.subarray(0, end)).update('\r\n').digest('base64')
}

const CR = 0x0d
const LF = 0x0a

/** Whether a CR or LF stands alone. */
export function hasBareLineBreak(raw: Buffer): boolean {
  let cr = raw.indexOf(CR)
  let lf = raw.indexOf(LF)
  while (cr !== -1 && lf === cr + 1) {
    cr = raw.indexOf(CR, lf + 1)
    lf = raw.indexOf(LF, lf + 1)
  }
  return cr !== -1 || lf !== -1
}
