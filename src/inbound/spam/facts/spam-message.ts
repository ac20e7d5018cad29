/** The input of spam scoring: parsed once, and the same for rules and classifier. */
import type { Author, Mailbox } from '../../../base/mail/mailbox-list.js'

export interface SpamField {
  /** Lower case. */
  readonly name: string
  /** Unfolded, not decoded. */
  readonly value: string
}

export interface SpamAttachment {
  readonly filename: string | null
  /** `type/subtype` in lower case. */
  readonly contentType: string
  /** Bytes, decoded. */
  readonly size: number
}

/** A part as its own header declares it. */
export interface SpamPart {
  /** `type/subtype` in lower case. Empty where the part does not say it. */
  readonly contentType: string
  /** The charset in lower case. Empty where the part does not say it. */
  readonly charset: string
  /** How it is decoded: `base64`, `quoted-printable` or `uuencode`. Empty if it is not encoded. */
  readonly encoding: string
  /** The part is a file besides the bodies: its disposition says so, or it has a name. */
  readonly attached: boolean
}

/** How it arrived. A message from a file has no origin. */
export interface SpamOrigin {
  /** Envelope sender. Empty for the null return path. */
  readonly envelopeFrom: string
  readonly clientAddress: string
  readonly helo: string
  /** The name that the address maps to and that maps back to it (RFC 8601 iprev). */
  readonly reverseName: string | null
}

/** Results of RFC 8601 section 2.7. */
export interface SpamAuthentication {
  readonly spf: string
  readonly dkim: string
  readonly dmarc: string
  readonly iprev: string
}

export interface SpamMessage {
  /** Fields in their order. */
  readonly fields: readonly SpamField[]
  /** Decoded. */
  readonly subject: string
  readonly from: readonly Author[]
  readonly replyTo: readonly Mailbox[]
  readonly to: readonly Mailbox[]
  /** Decoded parts, or null if there is none. */
  readonly text: string | null
  readonly html: string | null
  readonly attachments: readonly SpamAttachment[]
  /** The message itself first, then the parts in it, in their order. */
  readonly parts: readonly SpamPart[]
  /** Programs differ in which parts it has or in how they are decoded. */
  readonly isAmbiguous: boolean
  /** Content of attached web pages, decoded. */
  readonly pages: readonly string[]
  /** Bytes of the whole message. */
  readonly size: number
  readonly receivedAt: number
  readonly origin: SpamOrigin | null
  readonly authentication: SpamAuthentication | null
}
