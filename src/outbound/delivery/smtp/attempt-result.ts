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
  /** The host name of the MX, or of the route. */
  readonly mx: string
  readonly address: string | null
  /** A text such as `TLSv1.3` or `TLSv1.3, verified by DANE`. Null for plain text. */
  readonly tls: string | null
}

export type AttemptOutcome =
  /** The next hop accepted the message. `final` says that the hop is an MX of the recipient's domain. */
  | { readonly kind: 'accepted'; readonly final: boolean; readonly reply: Reply; readonly dsnRelayed: boolean }
  /** The message must be sent again later. `reached` says that a server answered. */
  | {
      readonly kind: 'deferred'
      readonly reason: Reason
      readonly response: string
      readonly reached: boolean
      /** The enhanced code, if a server's reply has one. */
      readonly status?: string
      /** When the provider takes messages again, in epoch milliseconds. The retry schedule may say a later time. */
      readonly retryAt?: number
      /** Replaces the retry schedule. `never` ends the message now, as if it had expired. */
      readonly retry?: { readonly after: number } | 'never'
    }
  /**
   * The message must not be sent again. `recipientsFault` says that the mailbox or its domain does not exist or accepts
   * no mail, which suppresses the address. `status` is the enhanced code for the DSN.
   */
  | {
      readonly kind: 'refused'
      readonly reason: Reason
      readonly response: string
      readonly status: string
      readonly recipientsFault: boolean
    }

export interface AttemptResult {
  /** When the first host was called. Absent if no host was. */
  readonly begunAt?: number
  readonly outcome: AttemptOutcome
  readonly peer: Peer | null
  /** The SMTP dialogue without message bytes and credentials; at most 8 KB. */
  readonly transcript: string
  /** Writes for the commit of the outcome. */
  readonly writes?: readonly Write[]
}
