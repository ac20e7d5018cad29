/** A *submission* is a message that a client hands in over SMTP or REST: envelope, bytes, and sending options. */
import type { Address } from '../../base/mail/address.js'
import type { DsnNotify } from '../../base/mail/dsn-parameters.js'
import type { Header } from '../../base/mail/header-fields.js'
import type { Mailbox } from '../../base/mail/mailbox-list.js'
import type { NamedAddress } from '../../base/mail/named-address.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Priority, Tag } from '../../base/storage/tables/email-tables.js'
import type { TrackingSkip } from '../tracking/track-email.js'
import type { PersonalContent } from './personal-copies.js'

export interface SubmittedRecipient {
  readonly address: Address
  /** RFC 3461 section 4.1. Null if the client did not give it. */
  readonly notify: readonly DsnNotify[] | null
  /** RFC 3461 section 4.2, such as `rfc822;…`. Null if the client did not give it. */
  readonly orcpt: string | null
  /** Set if the content contains the ids of its recipients. */
  readonly id?: string | undefined
}

export interface SubmittedMessage {
  /** Empty for `<>`. */
  readonly envelopeFrom: Address | ''
  /** RFC 3461 section 4.4, decoded. */
  readonly envid: string | null
  readonly ret: 'full' | 'headers' | null
  readonly recipients: readonly SubmittedRecipient[]
  /** True if the client asked for SMTPUTF8 (RFC 6531). */
  readonly smtputf8: boolean
  /** True if the client asked for REQUIRETLS (RFC 8689). */
  readonly requiresTls?: boolean
  /** Header and body with CRLF line ends, without dot-stuffing. */
  readonly raw: Buffer
  /** The `with` value of the Received field: ESMTPSA, ESMTPA, ESMTPS or ESMTP (RFC 3848), or HTTPS. */
  readonly protocol: string
}

/** How to send a message: header fields say it over SMTP, the request's body over REST. */
export interface SendingOptions {
  /** Null for the domain's default. */
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  readonly tags: readonly Tag[]
  readonly priority: Priority
  /** Epoch milliseconds in the future. Null for now. */
  readonly scheduledFor: number | null
  /** True for a test: the email is stored as cancelled, and no server gets it. */
  readonly dropped?: boolean
}

/** What lists, events and answers show of a message. */
export interface MessageSummary {
  /** All authors of the From field; lists show the first. */
  readonly from: readonly [NamedAddress, ...NamedAddress[]]
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
  readonly subject: string
}

export interface Submission {
  /** A UUIDv7 of now. The caller makes it, because a composed message already contains it. */
  readonly emailId: string
  readonly source: 'smtp' | 'rest'
  readonly message: SubmittedMessage
  /** The header of `message.raw`, scanned once. */
  readonly header: Header
  readonly summary: MessageSummary
  readonly options: SendingOptions
  readonly templateId: string | null
  /** Set if the message has the unsubscribe link of its first recipient; all recipients then have ids. */
  readonly personal?: PersonalContent | null
  /** Set if the message is already tracked, or stays without tracking. If null, preparing it decides. */
  readonly tracking: SubmittedTracking | null
  /** True if the email is also recorded when all of its recipients are suppressed. */
  readonly keepsSuppressed?: boolean
  readonly now: number
}

/** The tracking of a composed message. */
export interface SubmittedTracking {
  readonly opens: boolean
  readonly clicks: boolean
  /** Why the message goes out without the tracking that it should have. Null if it has it, or should have none. */
  readonly skipped: TrackingSkip | null
  /** Writes for the commit that stores the email. */
  readonly writes: readonly Write[]
}
