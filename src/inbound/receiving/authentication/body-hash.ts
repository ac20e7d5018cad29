/**
 * The hash of a body that is in memory as a whole, by either canonicalization of RFC 6376 section 3.4. mailauth's own
 * hashers read each byte in JavaScript, and look for MIME parts, which nothing here needs.
 *
 * Only CRLF is a line end: `mail/line-check` refuses messages with a bare CR or LF before they get here.
 *
 * Work on a large body goes in steps, between which other messages have their turn.
 */
import { createHash } from 'node:crypto'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { BodyHasher } from 'mailauth/lib/dkim/dkim-verifier.js'
import { hashRelaxedBodyAsync } from '../../../workspaces/domains/dkim/canonical.js'

const LF = 0x0a
const CR = 0x0d

/** Octets hashed in one step, which takes about a millisecond. */
const WINDOW_OCTETS = 524_288

/** Takes the place of one of mailauth's hashers. Its members are those that mailauth calls. */
export class WholeBodyHash implements BodyHasher {
  private hashed = ''

  constructor(
    private readonly canonicalization: string,
    private readonly algorithm: string,
  ) {}

  /** Call it before `digest`. */
  async hashBody(body: Buffer): Promise<void> {
    const hash = this.canonicalization === 'relaxed' ? hashRelaxedBodyAsync : hashSimpleBody
    this.hashed = await hash(body, 0, this.algorithm)
  }

  /** In base64. */
  digest(): string {
    return this.hashed
  }

  update(): void {}

  setContentType(): void {}

  getMimeStructureStart(): number {
    return -1
  }
}

/** RFC 6376 section 3.4.3: no empty lines at the end, and one CRLF. */
async function hashSimpleBody(raw: Buffer, bodyStart: number, algorithm: string): Promise<string> {
  let end = raw.length
  while (end - 1 > bodyStart && raw[end - 2] === CR && raw[end - 1] === LF) end -= 2
  const hash = createHash(algorithm)
  for (let at = bodyStart; at < end; at += WINDOW_OCTETS) {
    if (at > bodyStart) await yieldToEventLoop()
    hash.update(raw.subarray(at, Math.min(at + WINDOW_OCTETS, end)))
  }
  return hash.update('\r\n').digest('base64')
}
