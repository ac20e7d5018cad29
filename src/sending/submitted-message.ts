/** What a door hands over: an envelope and the bytes, unchanged. */
import type { Address } from '../mail/address.js'
import type { DsnNotify } from '../mail/dsn-parameters.js'

export interface SubmittedRecipient {
  readonly address: Address
  /** RFC 3461 section 4.1; null: not given. */
  readonly notify: readonly DsnNotify[] | null
  /** RFC 3461 section 4.2, as `rfc822;…`; null: not given. */
  readonly orcpt: string | null
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
  /** The word of the Received field's `with`: ESMTPSA, ESMTPA, ESMTPS or ESMTP (RFC 3848). */
  readonly protocol: string
}
