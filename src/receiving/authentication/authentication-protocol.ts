/** Messages between the main thread and the authentication thread. */
import type { Authentication, Connection } from '../../mail/authentication-results.js'
import type { RefusalKind } from '../../mail/refusal.js'
import type { LookupResult, MxRecord, RecordType } from '../../platform/dns/resolver.js'

/** A DNS query that the thread has no answer to; sockets and their limits are on the main thread. */
export interface DnsQuery {
  readonly name: string
  readonly type: RecordType | 'MX'
}

export type DnsAnswer = LookupResult<string> | LookupResult<MxRecord>

/** `freshUntil`: epoch milliseconds until which the thread may keep it; 0: it may not. */
export type DatedAnswer = readonly [question: number, answer: DnsAnswer, freshUntil: number]

export interface MessageToCheck {
  readonly id: number
  readonly raw: Uint8Array
  /** Its memory was moved and returns with the answer. */
  readonly moved: boolean
  readonly connection: Connection
  /** Epoch milliseconds by the clock of the main thread. */
  readonly now: number
}

/** `messages`: those of one turn of the event loop. */
export type ToAuthenticator =
  | { readonly kind: 'messages'; readonly messages: readonly MessageToCheck[] }
  | { readonly kind: 'answers'; readonly answers: readonly DatedAnswer[] }

/** Of one message. `raw`: its bytes if their memory was moved; null if they stayed on the main thread. */
export type Outcome =
  | {
      readonly kind: 'found'
      readonly id: number
      readonly authentication: Authentication
      readonly raw: Uint8Array<ArrayBuffer> | null
    }
  | {
      readonly kind: 'refused'
      readonly id: number
      readonly refusal: { readonly kind: RefusalKind; readonly message: string } | null
      /** The message of an internal error; for the log. */
      readonly message: string
    }

/** Of one turn of the event loop. */
export type FromAuthenticator =
  | { readonly kind: 'questions'; readonly questions: readonly (readonly [question: number, asked: DnsQuery])[] }
  | { readonly kind: 'outcomes'; readonly outcomes: readonly Outcome[] }
