/** The words in which the wire speaks to the rest of delivery. */
import type { Reply } from '../../mail/reply.js'
import type { Failure, Stage } from '../../messages/replies/classify-reply.js'

/** Why something did not come about: the server's own words, or none. */
export type SmtpFailure =
  /** The server answered 4xx or 5xx. */
  | { readonly kind: 'refused'; readonly stage: Stage; readonly reply: Reply }
  /** No answer that counts. `detail` ends a sentence: `connection closed`. */
  | { readonly kind: 'failed'; readonly stage: Stage; readonly failure: Failure; readonly detail: string }

/** What came of one transaction. */
export type SendResult =
  | { readonly kind: 'accepted'; readonly reply: Reply; readonly dsnRelayed: boolean }
  /** Not begun, for the server offers too little; `reply` is what we say in its place. */
  | { readonly kind: 'unsendable'; readonly reply: Reply }
  | SmtpFailure

/** One transaction and the connection that it ran on, or that did not come about. */
export interface Exchange {
  readonly sent: SendResult
  /** As `TLSv1.3`; null: plain text. */
  readonly tls: string | null
  readonly transcript: string
}
