/**
 * Messages between the main thread and a thread that looks at inbound mail.
 *
 * Objects with many fields cross as JSON: the structured clone algorithm takes several times as long to make them again.
 */
import type { Authentication, Connection } from '../../mail/authentication-results.js'
import type { RefusalKind } from '../../mail/refusal.js'
import type { Json } from '../../storage/tables/columns.js'
import type { DnsAnswer, DnsQuery } from '../authentication/kept-answers.js'
import type { AnalyzedContent } from '../inbound-analyzer.js'
import type { TraceFacts } from '../trace-fields.js'

/** `freshUntil`: epoch milliseconds until which the thread may keep it; 0: it may not. */
export type DatedAnswer = readonly [question: number, answer: DnsAnswer, freshUntil: number]

export interface MessageToCheck {
  readonly id: number
  readonly raw: Uint8Array<ArrayBuffer>
  /** Its memory was moved and returns with the answer. */
  readonly moved: boolean
  /** Epoch milliseconds by the clock of the main thread. */
  readonly now: number
  readonly facts: Json<MessageFacts>
}

interface MessageFacts {
  readonly connection: Connection
  /** To make its stored form, and to analyze that; null: neither is asked for. */
  readonly trace: TraceFacts | null
}

/** `messages`: those of one turn of the event loop. */
export type ToMessageThread =
  | { readonly kind: 'messages'; readonly messages: readonly MessageToCheck[] }
  | { readonly kind: 'answers'; readonly answers: readonly DatedAnswer[] }

/** A piece of a stored form: a place in the message as received, or a text in UTF-8. */
export type StoredPiece = readonly [start: number, end: number] | string

/** `content`: null if the message is not of a simple structure. */
export interface FoundForm {
  readonly pieces: readonly StoredPiece[]
  readonly content: AnalyzedContent | null
}

/** `raw`: the bytes of the message if their memory was moved; null if they stayed on the main thread. */
export interface OutcomeMessage {
  readonly kind: 'outcome'
  readonly id: number
  readonly raw: Uint8Array<ArrayBuffer> | null
  readonly outcome: Json<Outcome>
}

export type Outcome =
  | { readonly kind: 'found'; readonly authentication: Authentication; readonly form: FoundForm | null }
  | {
      readonly kind: 'refused'
      readonly refusal: { readonly kind: RefusalKind; readonly message: string } | null
      /** The message of an internal error; for the log. */
      readonly message: string
    }

/** `questions`: DNS queries that the thread has no answer to; sockets and their limits are on the main thread. */
export type FromMessageThread =
  | { readonly kind: 'questions'; readonly questions: readonly (readonly [question: number, asked: DnsQuery])[] }
  | OutcomeMessage
