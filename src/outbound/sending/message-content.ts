/** A message as an API request describes it: parsed and checked, not encoded yet. */
import type { NamedAddress } from '../../base/mail/named-address.js'

/** The bytes of a file. */
interface FileContent {
  readonly content: Buffer
  /** Nothing else uses the bytes: their memory may be given away. */
  readonly isOwn?: boolean
}

export interface Attachment extends FileContent {
  readonly filename: string
  /** Such as `application/pdf` or `text/csv; charset=utf-8`. */
  readonly contentType: string
}

export interface InlineImage extends FileContent {
  /** The HTML refers to it as `cid:CID`. */
  readonly cid: string
  readonly contentType: string
  readonly filename: string | null
}

/** A header field that the client set. */
export interface CustomField {
  readonly name: string
  readonly value: string
}

/** Characters from which on a body of a request is given as UTF-8. */
export const LONG_BODY = 65_536

/** UTF-8 if it is long: a string of megabytes takes the main thread too long, so only threads make one of it. */
export type RequestedBody = string | Buffer

export interface RequestedContent extends Omit<MessageContent, 'html' | 'text'> {
  /** Null: none. */
  readonly html: RequestedBody | null
  /** Null: made from the HTML. */
  readonly text: RequestedBody | null
}

export interface MessageContent {
  readonly from: NamedAddress
  readonly to: readonly NamedAddress[]
  readonly cc: readonly NamedAddress[]
  readonly bcc: readonly NamedAddress[]
  readonly replyTo: readonly NamedAddress[]
  readonly subject: string
  /** Null: none. */
  readonly html: string | null
  /** Null: made from the HTML. */
  readonly text: string | null
  readonly fields: readonly CustomField[]
  readonly attachments: readonly Attachment[]
  readonly inlineImages: readonly InlineImage[]
}
