/**
 * Sends a verification code: limits, the record, the provider, the outcome.
 *
 * The record and the charges of the limits are on disk before the provider is asked. The code becomes valid, and an
 * older one of the phone ends, in the commit that follows the provider's acceptance: a failed send changes neither.
 */
import type { KeyObject } from 'node:crypto'
import { recordEvent } from '../events/event-log.js'
import { Refusal } from '../mail/refusal.js'
import { type Clock, formatTimestamp } from '../platform/clock.js'
import { uuidv7 } from '../platform/ids.js'
import type { Log } from '../platform/log.js'
import type { Store } from '../storage/database.js'
import { type JsonObject, toJson } from '../storage/tables/columns.js'
import { tryCommit, type Write } from '../storage/writer/write.js'
import { generateCode, hashCode } from './code-hash.js'
import { type Destination, judgeNumber } from './judge-number.js'
import { buildMessageText, checkTemplate } from './message-text.js'
import type { SendOutcome, SmsProvider } from './provider.js'
import { toSmsData } from './sms-data.js'
import { insertCode, insertPart, markCodeSent, type NewCode, replacePendingCode, voidCode } from './sms-records.js'
import { type EncodedText, encodeText } from './text-encoding.js'

export interface CodeRequest {
  readonly workspaceId: string
  /** As the client wrote it. */
  readonly phone: string
  /** Undefined: the default text. */
  readonly template: string | undefined
  /** Digits. */
  readonly codeLength: number
  readonly expiryMinutes: number
  readonly metadata: JsonObject | null
}

export interface SentCode {
  readonly id: string
  /** E.164. */
  readonly phone: string
  readonly expiresAt: number
}

/** A send as the limits see it. */
export interface PlannedSend {
  readonly workspaceId: string
  readonly phone: string
  readonly range: string
  readonly prefix: string
  readonly now: number
}

export interface SendCharge {
  /** Must come first in the commit of the record. If a limit is reached, they miss and nothing is written. */
  readonly writes: readonly Write[]
  /** Why they missed; null: no limit is reached. */
  readonly findRefusal: () => Refusal | null
}

export interface CodeSenderDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  /** From `deriveCodeKey`. */
  readonly codeKey: KeyObject
  /** Null: none is configured. */
  readonly provider: SmsProvider | null
  /** ISO 3166-1 alpha-2, in upper case. */
  readonly allowedCountries: readonly string[]
  /** Why no code is sent to the prefix for a while; null: it may be. */
  readonly findHold: (send: PlannedSend) => Promise<Refusal | null> | Refusal | null
  readonly chargeSend: (send: PlannedSend) => SendCharge
  /** The writes that count a sent code, for the commit of the provider's acceptance. */
  readonly countSent: (workspaceId: string, segments: number, now: number) => readonly Write[]
  readonly buildReceiptUrl: (smsId: string) => string
}

/** Rejects with a Refusal: `invalid-parameter`, `rate-limited`, `unavailable`, `no-answer`, `bad-credentials`. */
export type CodeSender = (request: CodeRequest) => Promise<SentCode>
