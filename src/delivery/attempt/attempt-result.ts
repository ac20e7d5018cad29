/**
 * What came of one attempt to hand one message to one recipient's server.
 *
 * An attempt may try several MX hosts; the result speaks of the last one tried, or of
 * none where the failure came before a host was known.
 */

import type { Reason } from '../../mail/reasons.js'
import type { Reply } from '../../mail/reply.js'

export interface Peer {
  /** Host name of the MX, or of the route. */
  readonly mx: string
  readonly address: string | null
  /** As `TLSv1.3`; null: plain text. */
  readonly tls: string | null
}

export type AttemptOutcome =
  /** The next hop took it over. `final`: that hop is an MX of the recipient's domain. */
  | { readonly kind: 'accepted'; readonly final: boolean; readonly reply: Reply; readonly dsnRelayed: boolean }
  /** Try again later. `reached`: some server answered at all. */
  | {
      readonly kind: 'deferred'
      readonly reason: Reason
      readonly response: string
      readonly reached: boolean
      /** Enhanced code, where a server's words have one. */
      readonly status?: string
    }
  /**
   * Never try again. `recipientsFault`: the mailbox or its domain itself is dead, which
   * suppresses the address. `status`: enhanced code for the DSN.
   */
  | {
      readonly kind: 'refused'
      readonly reason: Reason
      readonly response: string
      readonly status: string
      readonly recipientsFault: boolean
    }

export interface AttemptResult {
  /** When the first host was called; absent: none was. */
  readonly begunAt?: number
  readonly outcome: AttemptOutcome
  readonly peer: Peer | null
  /** The SMTP dialogue, no message bytes, no credentials; at most 8 KB. */
  readonly transcript: string
}
