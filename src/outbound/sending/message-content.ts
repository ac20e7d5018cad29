/** The content of a message as an API request describes it: parsed and checked, but not encoded. */
import type { NamedAddress } from '../../base/mail/named-address.js'

/** The bytes of a file. */
interface FileContent {
  readonly content: Buffer
  /** True if nothing else uses the bytes, so that their memory may be transferred. */
  readonly isOwn?: boolean
}

export interface Attachment extends FileContent {
  readonly filename: string
  /** A type such as `application/pdf` or `text/csv; charset=utf-8`. */
  readonly contentType: string
}

export interface InlineImage extends FileContent {
  /** The HTML refers to the image as `cid:CID`. */
  readonly cid: string
  readonly contentType: string
  readonly filename: string | null
}

/** A header field that the client set. */
export interface CustomField {
  readonly name: string
  readonly value: string
}

/** A body of a request with at least this many characters is passed as UTF-8. */
export const LONG_BODY = 65_536

/** A long body is UTF-8: making a string of megabytes takes the main thread too long, so only threads do it. */
export type RequestedBody = string | Buffer

export interface RequestedContent extends Omit<MessageContent, 'html' | 'text'> {
  /** Null if there is no HTML. */
  readonly html: RequestedBody | null
  /** Null if the text is made from the HTML. */
  readonly text: RequestedBody | null
}

export interface MessageContent {
  readonly from: NamedAddress
  readonly to: readonly NamedAddress[]
  readonly cc: readonly NamedAddress[]
  readonly bcc: readonly NamedAddress[]
  readonly replyTo: readonly NamedAddress[]
  readonly subject: string
  /** Null if there is no HTML. */
  readonly html: string | null
  /** Null if the text is made from the HTML. */
  readonly text: string | null
  readonly fields: readonly CustomField[]
  readonly attachments: readonly Attachment[]
  readonly inlineImages: readonly InlineImage[]
}
