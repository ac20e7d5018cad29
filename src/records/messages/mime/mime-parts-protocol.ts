/**
 * The messages between the daemon and a process that parses: what a message is parsed into, what rooms above make of it
 * there, and the frames that are exchanged.
 */
import type { Header } from '../../../base/mail/header-fields.js'

export interface MimeField {
  /** The name as it is written. */
  readonly name: string
  /** The unfolded value, with encoded words decoded. */
  readonly value: string
}

export interface MimeAttachment {
  readonly filename: string | null
  readonly content_type: string
  /** The number of decoded bytes. */
  readonly size: number
  /** The id without its angle brackets. */
  readonly content_id: string | null
  readonly disposition: 'inline' | 'attachment'
}

export interface MimeParts {
  readonly html: string | null
  readonly text: string | null
  /** The fields in their order. */
  readonly headers: readonly MimeField[]
  readonly attachments: readonly MimeAttachment[]
}

/** What a message consists of, except for its header. */
export interface MimeContent extends Omit<MimeParts, 'headers'> {
  /** True if programs differ in which parts the message has, or in how they decode them. */
  readonly ambiguous: boolean
}

/** `gone` means that the bytes are no longer stored. */
export type UnreadableReason = 'gone' | 'broken' | 'time' | 'memory'

/** A message that is scanned and parsed once, for everything that is made of it. */
export interface ParsedMessage {
  readonly raw: Buffer
  readonly header: Header
  readonly parts: MimeContent
}

/**
 * What a room above makes of a message in the process, within its time and its memory. The module at `module`
 * exports it as `contentAnalyzer`. Facts, summary and analysis cross between the processes as JSON.
 */
export interface ContentAnalyzer<Summary, Facts, Analysis> {
  readonly module: URL
  /** The process sends this before the analysis begins, so it arrives even if the analysis ends the process. */
  readonly summarize: (message: ParsedMessage) => Summary
  readonly analyze: (message: ParsedMessage, facts: Facts) => Analysis
}

/** Makes a digest of a message that was not parsed into parts before. The module exports it as `messageDigester`. */
export interface MessageDigester<Facts, Digest> {
  readonly module: URL
  readonly digest: (raw: Buffer, facts: Facts) => Digest
}

/**
 * Changes the HTML of a message in the process, within its time and its memory. The module at `module` exports it as
 * `htmlChange`. Facts cross between the processes as JSON.
 */
export interface HtmlChange<Facts> {
  readonly module: URL
  readonly change: (html: string, facts: Facts) => string
}

/** A change with its facts. `module` is its URL. */
export interface HtmlChangeRequest {
  readonly module: string
  readonly facts: unknown
}

/** Makes a document from a message in the process. The module exports it as `messageRenderer`. */
export interface MessageRenderer<Facts> {
  readonly module: URL
  /** Returns the document in UTF-8. */
  readonly render: (raw: Buffer, facts: Facts) => Buffer
}

/** `analysis` is null if it failed or exceeded the limits of the process. */
export type AnalysisResult<Summary, Analysis> =
  | { readonly kind: 'analyzed'; readonly summary: Summary; readonly analysis: Analysis | null }
  | UnreadableResult

export type DigestResult<Digest> = { readonly kind: 'digested'; readonly digest: Digest } | UnreadableResult

export interface UnreadableResult {
  readonly kind: 'unreadable'
  readonly why: UnreadableReason
  readonly message: string
}

export type MimeResult = { readonly kind: 'parts'; readonly parts: MimeParts } | UnreadableResult

/**
 * The parts for display, with the bodies as JSON texts. An API answer contains them as they are, because encoding
 * megabytes as JSON would block the main thread. Null if there is none.
 */
export interface ReadableParts extends Omit<MimeParts, 'html' | 'text'> {
  readonly html: Buffer | null
  readonly text: Buffer | null
}

export type ReadableResult = { readonly kind: 'readable'; readonly parts: ReadableParts } | UnreadableResult

export type RenderResult = { readonly kind: 'rendered'; readonly bytes: Buffer } | UnreadableResult

/** `none` means that there is no such attachment. */
export type AttachmentResult =
  | { readonly kind: 'attachment'; readonly attachment: MimeAttachment; readonly bytes: Buffer }
  | { readonly kind: 'none' }
  | UnreadableResult

/** How to read a message for display. */
export interface Display {
  /** If true and there is no text, one is made from the HTML. */
  readonly makesText: boolean
  readonly htmlChange: HtmlChangeRequest | null
}

/** `module` is its URL. */
export type MimeRequest =
  | { readonly kind: 'parts' }
  | ({ readonly kind: 'readable' } & Display)
  | { readonly kind: 'analyzed'; readonly facts: unknown }
  | { readonly kind: 'digested' | 'rendered'; readonly module: string; readonly facts: unknown }
  | { readonly kind: 'attachment'; readonly index: number }

/** The argument with which the process is started. */
export interface ProcessData {
  /** The URL of the module of a `ContentAnalyzer`, or null. */
  readonly analysisModule: string | null
  /** Megabytes of resident memory. */
  readonly resident: number
}

/** Precedes the bytes of the message in the same frame. */
export interface ToMimeProcess {
  readonly request: MimeRequest
}

/**
 * The lengths of the bodies in the bytes of the frame, first the HTML, then the text. They are in UTF-8; for `readable`
 * they are JSON. Null if there is none.
 */
export interface BodyLengths {
  readonly html: number | null
  readonly text: number | null
}

/** What the process sends: first that it is ready for a message, then the result of each. */
export type FromMimeProcess<Summary, Analysis> =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'parts' | 'readable'
      readonly parts: Omit<MimeParts, 'html' | 'text'>
      readonly bodies: BodyLengths
    }
  /** Comes before the analysis, which may end the process. */
  | { readonly kind: 'summarized'; readonly summary: Summary }
  | { readonly kind: 'analyzed'; readonly analysis: Analysis | null }
  | { readonly kind: 'digested'; readonly digest: unknown }
  /** The bytes of the frame are the document. */
  | { readonly kind: 'rendered' }
  /** The bytes of the frame are the content of the attachment. */
  | { readonly kind: 'attachment'; readonly attachment: MimeAttachment }
  | { readonly kind: 'none' }
  | { readonly kind: 'broken'; readonly message: string }
