/**
 * A *provider* of SMS takes over messages from us. It is an SMSC, an HTTP gateway or the log. All have this
 * interface.
 */
import type { EncodedText } from './text-encoding.js'

export interface SmsMessage {
  /** A UUIDv7. */
  readonly id: string
  /** E.164, with the plus sign. */
  readonly phone: string
  readonly text: EncodedText
  /** A delivery after this moment is useless. */
  readonly expiresAt: number
  /** Providers that report over HTTP use this URL. */
  readonly receiptUrl: string
}

export type SendOutcome =
  /** `messageIds` are those of the parts, in order. The list is empty if the provider gave none. */
  | { readonly kind: 'accepted'; readonly messageIds: readonly string[] }
  /** `reason` is for the log alone. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** There was no answer. The provider may have taken over the message or not. */
  | { readonly kind: 'silent'; readonly reason: string }

export interface SmsProvider {
  readonly name: 'smpp' | 'http' | 'log'
  /** Never rejects. It resolves before `deadline`, by the clock that the provider was given. */
  readonly send: (message: SmsMessage, deadline: number) => Promise<SendOutcome>
  readonly stop: () => Promise<void>
}

/** What a provider reports later about a message, or about a part of it. */
export interface Receipt {
  readonly provider: string
  /** Ids of the provider that the message may have, most likely first. The list is empty if `smsId` is known. */
  readonly messageIds: readonly string[]
  /** The id from a receipt URL. */
  readonly smsId: string | null
  readonly state: 'delivered' | 'failed'
  /** The reason, for the log. */
  readonly reason: string
}
