/** The results of sending a message over SMTP. */
import type { Reply } from '../../../base/mail/reply.js'
import type { Failure, Stage } from '../../../records/messages/replies/classify-reply.js'

/** Says why a step failed: with the server's reply, or without one. */
export type SmtpFailure =
  /** The server answered 4xx or 5xx. */
  | { readonly kind: 'refused'; readonly stage: Stage; readonly reply: Reply }
  /** The server gave no valid reply. `detail` is the end of a sentence, such as `connection closed`. */
  | { readonly kind: 'failed'; readonly stage: Stage; readonly failure: Failure; readonly detail: string }

/** The result of one transaction. */
export type SendResult =
  | { readonly kind: 'accepted'; readonly reply: Reply; readonly dsnRelayed: boolean }
  /** The transaction did not begin, because the server lacks an extension. `reply` replaces the server's. */
  | { readonly kind: 'unsendable'; readonly reply: Reply }
  | SmtpFailure

/** One transaction, and the connection on which it ran or that could not be opened. */
export interface Exchange {
  readonly sent: SendResult
  /** A text such as `TLSv1.3` or `TLSv1.3, verified by DANE`. Null for plain text. */
  readonly tls: string | null
  readonly transcript: string
  /** Set if the message was refused for our pace: it may be sent again at this time, in epoch milliseconds. */
  readonly retryAt?: number
}
