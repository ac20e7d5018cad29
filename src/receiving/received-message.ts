/** What the MX listener hands over: an envelope, the bytes as they came, and who brought them. */
import type { Address } from '../mail/address.js'
import type { Header } from '../mail/header-fields.js'
import type { Listing } from '../spam/dnsbl.js'

export interface TlsFacts {
  /** As `TLSv1.3`. */
  readonly protocol: string
  /** Its name in the standards, as `TLS_AES_256_GCM_SHA384`. */
  readonly cipher: string
}

export interface ReceivedMessage {
  /** Empty: `<>`. */
  readonly envelopeFrom: Address | ''
  /** Each once, in the order of their first RCPT. */
  readonly recipients: readonly [Address, ...Address[]]
  /** Header and body, CRLF line ends, dot-unstuffed. */
  readonly raw: Buffer
  /** Of `raw`. */
  readonly header: Header
  readonly client: {
    /** IPv4 or IPv6; behind a proxy the one that it told. */
    readonly address: string
    readonly port: number
    /** What it called itself, in lower case: anything without control characters. */
    readonly helo: string
    /** It spoke before it was greeted. */
    readonly earlyTalker: boolean
    readonly listings: readonly Listing[]
  }
  readonly tls: TlsFacts | null
  /** The word of the Received field's `with`: SMTP, ESMTP, ESMTPS (RFC 3848), UTF8SMTP, UTF8SMTPS (RFC 6531). */
  readonly protocol: string
  /** The client asked for SMTPUTF8 (RFC 6531). */
  readonly smtputf8: boolean
}
