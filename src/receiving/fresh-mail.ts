/**
 * Mail that has just been stored and whose bytes are still in memory: it need not be read back to be processed.
 *
 * Only small messages are kept, and only as long as there is room: the others, and all after a restart, are read from
 * the database.
 */
import type { InboundEmail } from '../messages/inbound/inbound-email.js'
import type { MovedBytes } from '../storage/writer/write.js'

export interface FreshMail {
  readonly email: InboundEmail
  /** As stored; null: to be read from the database. */
  readonly raw: Buffer | null
}

/** Octets of a message that is kept. */
const MAX_SIZE = 65_536
/** Octets of all of them. */
const MAX_HELD = 4_194_304

/** `stored`: the bytes of its commit; memory that was moved to the writer is gone from here. */
export function toFreshMail(email: InboundEmail, stored: MovedBytes): FreshMail {
  const isKept = email.size <= MAX_SIZE && stored.length === email.size
  return { email, raw: isKept ? Buffer.concat(stored.pieces) : null }
}

export class FreshBytes {
  private held = 0

  /** Null if there is no room. */
  hold(raw: Buffer | null): Buffer | null {
    if (raw === null || this.held + raw.length > MAX_HELD) return null
    this.held += raw.length
    return raw
  }

  release(raw: Buffer | null): void {
    this.held -= raw?.length ?? 0
  }
}
