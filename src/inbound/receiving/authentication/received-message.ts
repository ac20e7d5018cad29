/** The message that the MX listener hands over: the envelope, the bytes, and facts about the client. */
import type { Address } from '../../../base/mail/address.js'
import type { Header } from '../../../base/mail/header-fields.js'
import type { MessageBytes } from '../../../base/storage/db/message-bytes.js'
import type { AllowListing } from '../../../base/storage/tables/inbound-tables.js'
import type { Listing } from '../../spam/dnsbl.js'

export interface TlsFacts {
  /** The version of TLS, for example `TLSv1.3`. */
  readonly protocol: string
  /** Its name in the standards, such as `TLS_AES_256_GCM_SHA384`. */
  readonly cipher: string
}

export interface ReceivedMessage {
  /** Empty for `<>`. */
  readonly envelopeFrom: Address | ''
  /** Each recipient once, in the order of their first RCPT. */
  readonly recipients: readonly [Address, ...Address[]]
  /** Header and body, CRLF line ends, dot-unstuffed. */
  readonly bytes: MessageBytes
  /** The header of these bytes. */
  readonly header: Header
  readonly client: {
    /** The id of its session, for the log. */
    readonly session: string
    /** IPv4 or IPv6; behind a proxy the address that the proxy reported. */
    readonly address: string
    readonly port: number
    /** The HELO name in lower case. It may be any text without control characters. */
    readonly helo: string
    /** The client sent data before the greeting. */
    readonly earlyTalker: boolean
    readonly listings: readonly Listing[]
    readonly allowListings: readonly AllowListing[]
  }
  readonly tls: TlsFacts | null
  /** The word of the Received field's `with`: SMTP, ESMTP, ESMTPS (RFC 3848), UTF8SMTP, UTF8SMTPS (RFC 6531). */
  readonly protocol: string
  /** The client asked for SMTPUTF8 (RFC 6531). */
  readonly smtputf8: boolean
  /** The client asked for REQUIRETLS (RFC 8689). If it is absent, it did not. */
  readonly requiresTls?: boolean
}
