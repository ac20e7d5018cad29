/**
 * Messages between the main thread and a thread that looks at inbound mail.
 *
 * Objects with many fields cross as JSON: the structured clone algorithm takes several times as long to make them again.
 */
import type { Authentication, Connection } from '../../../base/mail/authentication-results.js'
import type { RefusalKind } from '../../../base/mail/refusal.js'
import type { Json } from '../../../base/storage/tables/columns.js'
import type { DnsQuery, FoundAnswer } from '../authentication/kept-answers.js'
import type { TraceFacts } from '../authentication/trace-fields.js'
import type { PackedForm } from './packed-form.js'

/** `freshUntil` is in epoch milliseconds: the thread may keep the answer until then. 0 if it may not keep it. */
export type DatedAnswer = readonly [question: number, answer: FoundAnswer, freshUntil: number]

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
  /** Asks to make its stored form, and to analyze that. Null if neither is asked for. */
  readonly trace: TraceFacts | null
}

/** `messages` are those of one turn of the event loop. */
export type ToMessageThread =
  | { readonly kind: 'messages'; readonly messages: readonly MessageToCheck[] }
  | { readonly kind: 'answers'; readonly answers: readonly DatedAnswer[] }

export interface FoundMessage {
  readonly kind: 'found'
  readonly id: number
  /** The bytes of the message if their memory was moved. Null if they stayed on the main thread. */
  readonly raw: Uint8Array<ArrayBuffer> | null
  readonly authentication: Json<Authentication>
  /** Null if it was not asked for. */
  readonly form: PackedForm | null
}

export interface RefusedMessage {
  readonly kind: 'refused'
  readonly id: number
  readonly refusal: { readonly kind: RefusalKind; readonly message: string } | null
  /** The message of an internal error; for the log. */
  readonly message: string
}

/**
 * `ready`: the code of the thread is loaded. `questions`: DNS queries that the thread has no answer to; sockets and
 * their limits are on the main thread.
 */
export type FromMessageThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'questions'; readonly questions: readonly (readonly [question: number, asked: DnsQuery])[] }
  | FoundMessage
  | RefusedMessage
