/**
 * The result of one attempt to deliver one message to one recipient's server.
 *
 * An attempt may call several MX hosts; the result is that of one of them, or of none if the attempt
 * failed before a host was known.
 */
import type { Reason } from '../../../base/mail/reasons.js'
import type { Reply } from '../../../base/mail/reply.js'
import type { Write } from '../../../base/storage/db/write.js'

interface Peer {
  /** Host name of the MX, or of the route. */
  readonly mx: string
  readonly address: string | null
  /** As `TLSv1.3` or `TLSv1.3, verified by DANE`; null: plain text. */
  readonly tls: string | null
}

export type AttemptOutcome =
  /** The next hop accepted the message. `final`: that hop is an MX of the recipient's domain. */
  | { readonly kind: 'accepted'; readonly final: boolean; readonly reply: Reply; readonly dsnRelayed: boolean }
  /** Try again later. `reached`: some server answered. */
  | {
      readonly kind: 'deferred'
      readonly reason: Reason
      readonly response: string
      readonly reached: boolean
      /** Enhanced code, if a server's reply has one. */
      readonly status?: string
      /** When its provider takes messages again, epoch milliseconds: sooner than the schedule of retries may say. */
      readonly retryAt?: number
      /** Instead of the retry schedule. `never`: it ends now, as if it had expired. */
      readonly retry?: { readonly after: number } | 'never'
    }
  /**
   * Do not try again. `recipientsFault`: the mailbox or its domain does not exist or accepts no mail,
   * which suppresses the address. `status`: enhanced code for the DSN.
   */
  | {
      readonly kind: 'refused'
      readonly reason: Reason
      readonly response: string
      readonly status: string
      readonly recipientsFault: boolean
    }

export interface AttemptResult {
  /** When the first host was called; absent: no host was. */
  readonly begunAt?: number
  readonly outcome: AttemptOutcome
  readonly peer: Peer | null
  /** The SMTP dialogue without message bytes and credentials; at most 8 KB. */
  readonly transcript: string
  /** Stored in the commit of the outcome. */
  readonly writes?: readonly Write[]
}
