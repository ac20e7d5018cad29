/** What a door hands over: an envelope and the bytes, unchanged, and how they are to be sent. */
import type { Address } from '../mail/address.js'
import type { DsnNotify } from '../mail/dsn-parameters.js'
import type { Header } from '../mail/header-fields.js'
import type { Mailbox } from '../mail/mailbox-list.js'
import type { NamedAddress } from '../mail/named-address.js'
import type { Priority } from '../storage/tables/tables.js'

export interface SubmittedRecipient {
  readonly address: Address
  /** RFC 3461 section 4.1; null: not given. */
  readonly notify: readonly DsnNotify[] | null
  /** RFC 3461 section 4.2, as `rfc822;…`; null: not given. */
  readonly orcpt: string | null
  /** Given where the message speaks of its recipients by their ids. */
  readonly id?: string | undefined
}

export interface SubmittedMessage {
  /** Empty: `<>`. */
  readonly envelopeFrom: Address | ''
  /** RFC 3461 section 4.4, decoded. */
  readonly envid: string | null
  readonly ret: 'full' | 'headers' | null
  readonly recipients: readonly SubmittedRecipient[]
  /** The client asked for SMTPUTF8 (RFC 6531). */
  readonly smtputf8: boolean
  /** Header and body, CRLF line ends, dot-unstuffed. */
  readonly raw: Buffer
  /** The word of the Received field's `with`: ESMTPSA, ESMTPA, ESMTPS or ESMTP (RFC 3848), or HTTPS. */
  readonly protocol: string
}

export interface Tag {
  readonly name: string
  readonly value: string
}

/** How a message is to be sent: header fields say it over SMTP, the body over REST. */
export interface SendingOptions {
  /** Null: the domain's default. */
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  readonly tags: readonly Tag[]
  readonly priority: Priority
  /** Epoch milliseconds, in the future; null: now. */
  readonly scheduledFor: number | null
}

/** What lists, events and answers show of a message. */
export interface MessageSummary {
  /** All of the From field; the first is shown. */
  readonly from: readonly [NamedAddress, ...NamedAddress[]]
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
  readonly subject: string
}

export interface Submission {
  /** UUIDv7 of now, made by whoever submits: a composed message bears it already. */
  readonly emailId: string
  readonly source: 'smtp' | 'rest'
  readonly message: SubmittedMessage
  /** Of `message.raw`, scanned once. */
  readonly header: Header
  /** Who wrote it to whom, about what. */
  readonly summary: MessageSummary
  readonly options: SendingOptions
  readonly templateId: string | null
  readonly now: number
}
