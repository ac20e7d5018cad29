/** A *report* is a message about our mail: a bounce, a success, a complaint or an automatic reply. */
import type { Address } from '../../../base/mail/address.js'
import type { Reason } from '../../../base/mail/reasons.js'

/** `temporary`: the server gave up for a temporary reason. `delayed`: delivery is still being tried. */
export type BounceKind = 'permanent' | 'temporary' | 'delayed' | 'delivered'

export interface Bounce {
  /** The final recipient, after aliases and forwards. Null if the report does not name it. */
  readonly recipient: Address | null
  /** The original recipient, if the report names it too. */
  readonly original: Address | null
  readonly kind: BounceKind
  /** Enhanced status code, such as `5.1.1`. Null if none was given. */
  readonly status: string | null
  /** Null for a delivery. */
  readonly reason: Reason | null
  /** The mailbox itself is dead, so the address is suppressed. True only with `permanent`. */
  readonly recipientsFault: boolean
  /** The server's text, or the report's prose. One line, at most 1,000 characters. */
  readonly diagnostic: string
}

export interface ReportedField {
  /** Lower case. */
  readonly name: string
  /** Unfolded, not decoded. */
  readonly value: string
}

/** Header fields of the message that the report is about, as far as it contains them. */
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
  /** Recipients of the message, if the report names them. */
  readonly recipients: readonly Address[]
  /** Our return path, as named in the report. */
  readonly mailFrom: Address | null
  readonly reported: ReportedHeader
}

/** `auto-reply`: an automatic reply that says nothing about delivery (RFC 3834). */
export type Report = BounceReport | ComplaintReport | { readonly type: 'auto-reply' } | { readonly type: 'other' }
