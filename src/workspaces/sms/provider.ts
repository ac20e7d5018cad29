/**
 * A *provider* of SMS takes over messages from us: an SMSC, an HTTP gateway, or the log. One interface for all of them.
 */
import type { EncodedText } from './text-encoding.js'

export interface SmsMessage {
  /** A UUIDv7. */
  readonly id: string
  /** E.164, with the plus sign. */
  readonly phone: string
  readonly text: EncodedText
  /** A later delivery is useless. */
  readonly expiresAt: number
  /** For providers that report over HTTP. */
  readonly receiptUrl: string
}

export type SendOutcome =
  /** `messageIds`: of the parts, in order; empty: the provider gave none. */
  | { readonly kind: 'accepted'; readonly messageIds: readonly string[] }
  /** `reason`: for the log alone. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** No answer: the provider may have taken over the message or not. */
  | { readonly kind: 'silent'; readonly reason: string }

export interface SmsProvider {
  readonly name: 'smpp' | 'http' | 'log'
  /** Never rejects. `deadline`: the moment by which it has resolved, by the clock that the provider was given. */
  readonly send: (message: SmsMessage, deadline: number) => Promise<SendOutcome>
  readonly stop: () => Promise<void>
}

/** What a provider reports later of a message, or of a part of it. */
export interface Receipt {
  readonly provider: string
  /** Ids of the provider that the message may have, most likely first; empty: `smsId` is known. */
  readonly messageIds: readonly string[]
  /** From a receipt URL. */
  readonly smsId: string | null
  readonly state: 'delivered' | 'failed'
  /** For the log. */
  readonly reason: string
}
