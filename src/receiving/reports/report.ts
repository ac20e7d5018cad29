/** What a message at a return path or a feedback address says about mail of ours. */
import type { Address } from '../../mail/address.js'
import type { Reason } from '../../mail/reasons.js'

/** `temporary`: given up, for something that may pass. `delayed`: it is still being tried. */
export type BounceKind = 'permanent' | 'temporary' | 'delayed' | 'delivered'

export interface Bounce {
  /** Whom it failed for at the end, aliases and forwards followed; null: the report does not say. */
  readonly recipient: Address | null
  /** Whom it was sent to at first, where the report names that as well. */
  readonly original: Address | null
  readonly kind: BounceKind
  /** Enhanced status code, as `5.1.1`; null: none was given. */
  readonly status: string | null
  /** Null of what was delivered. */
  readonly reason: Reason | null
  /** The mailbox itself is dead: suppresses the address. Only with `permanent`. */
  readonly recipientsFault: boolean
  /** The server's words, or what the report tells people. One line, at most 1,000 characters. */
  readonly diagnostic: string
}

export interface ReportedField {
  /** Lower case. */
  readonly name: string
  /** Unfolded, not decoded. */
  readonly value: string
}

/** Header fields of the message that the report is about, as far as it brings them. */
export type ReportedHeader = readonly ReportedField[]

export interface BounceReport {
  readonly type: 'bounce'
  readonly bounces: readonly Bounce[]
  /** ENVID of the report (RFC 3461), or null. */
  readonly envid: string | null
  readonly reported: ReportedHeader
}

export interface ComplaintReport {
  readonly type: 'complaint'
  /** Lower case, as `abuse`, `not-spam`, `auth-failure`, `opt-out`. */
  readonly feedbackType: string
  /** Whom the message had been sent to, where the report says so. */
  readonly recipients: readonly Address[]
  /** Our return path, as the report names it. */
  readonly mailFrom: Address | null
  readonly reported: ReportedHeader
}

/** `auto-reply`: a machine's answer that tells nothing of delivery (RFC 3834). */
export type Report = BounceReport | ComplaintReport | { readonly type: 'auto-reply' } | { readonly type: 'other' }
