/**
 * The messages between the daemon and a process that parses: what a message is parsed into, what rooms above make of it
 * there, and the frames that are exchanged.
 */
import type { Header } from '../../../base/mail/header-fields.js'

export interface MimeField {
  /** The name as it is written. */
  readonly name: string
  /** Unfolded, encoded words decoded. */
  readonly value: string
}

export interface MimeAttachment {
  readonly filename: string | null
  readonly content_type: string
  /** Bytes, decoded. */
  readonly size: number
  /** Without its angle brackets. */
  readonly content_id: string | null
  readonly disposition: 'inline' | 'attachment'
}

export interface MimeParts {
  readonly html: string | null
  readonly text: string | null
  /** In their order. */
  readonly headers: readonly MimeField[]
  readonly attachments: readonly MimeAttachment[]
}

/** What a message consists of beside its header. */
export interface MimeContent extends Omit<MimeParts, 'headers'> {
  /** Programs differ in which parts it has or in how they are decoded. */
  readonly ambiguous: boolean
}

/** `gone`: its bytes are no longer stored. */
export type UnreadableReason = 'gone' | 'broken' | 'time' | 'memory'

/** A message, scanned and parsed once for everything that is made of it. */
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
  /** Sent before the analysis begins, so it is there even if the analysis takes the process down. */
  readonly summarize: (message: ParsedMessage) => Summary
  readonly analyze: (message: ParsedMessage, facts: Facts) => Analysis
}

/** The same for a message that is not parsed into parts before. The module exports it as `messageDigester`. */
export interface MessageDigester<Facts, Digest> {
  readonly module: URL
  readonly digest: (raw: Buffer, facts: Facts) => Digest
}

/**
 * Another form of the HTML of a message, made in the process, within its time and its memory. The module at `module`
 * exports it as `htmlChange`. Facts cross between the processes as JSON.
 */
export interface HtmlChange<Facts> {
  readonly module: URL
  readonly change: (html: string, facts: Facts) => string
}

/** A change with its facts; `module`: its URL. */
export interface HtmlChangeRequest {
  readonly module: string
  readonly facts: unknown
}

/** A document made of a message in the process. The module exports it as `messageRenderer`. */
export interface MessageRenderer<Facts> {
  readonly module: URL
  /** The document in UTF-8. */
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
 * For display: the bodies as JSON texts, which an API answer contains as they are, because encoding megabytes as
 * JSON would block the main thread. Null if there is none.
 */
export interface ReadableParts extends Omit<MimeParts, 'html' | 'text'> {
  readonly html: Buffer | null
  readonly text: Buffer | null
}

export type ReadableResult = { readonly kind: 'readable'; readonly parts: ReadableParts } | UnreadableResult

export type RenderResult = { readonly kind: 'rendered'; readonly bytes: Buffer } | UnreadableResult

/** `none`: there is no such attachment. */
export type AttachmentResult =
  | { readonly kind: 'attachment'; readonly attachment: MimeAttachment; readonly bytes: Buffer }
  | { readonly kind: 'none' }
  | UnreadableResult

/** How a message is read for display. */
export interface Display {
  /** It is made of the HTML, if there is no text. */
  readonly makesText: boolean
  readonly htmlChange: HtmlChangeRequest | null
}

/** `module`: its URL. */
export type MimeRequest =
  | { readonly kind: 'parts' }
  | ({ readonly kind: 'readable' } & Display)
  | { readonly kind: 'analyzed'; readonly facts: unknown }
  | { readonly kind: 'digested' | 'rendered'; readonly module: string; readonly facts: unknown }
  | { readonly kind: 'attachment'; readonly index: number }

/** What the process is started with, as its argument. */
export interface ProcessData {
  /** URL of the module of a `ContentAnalyzer`, or null. */
  readonly analysisModule: string | null
  /** Megabytes of resident memory. */
  readonly resident: number
}

/** Precedes the bytes of the message in the same frame. */
export interface ToMimeProcess {
  readonly request: MimeRequest
}

/**
 * Lengths of the bodies, which are the bytes of the frame in UTF-8, for `readable` as JSON: first the HTML, then
 * the text. Null if there is none.
 */
export interface BodyLengths {
  readonly html: number | null
  readonly text: number | null
}

/** What the process says: that it is ready for a message, then the result of each. */
export type FromMimeProcess<Summary, Analysis> =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'parts' | 'readable'
      readonly parts: Omit<MimeParts, 'html' | 'text'>
      readonly bodies: BodyLengths
    }
  /** Before the analysis, which may take the process down. */
  | { readonly kind: 'summarized'; readonly summary: Summary }
  | { readonly kind: 'analyzed'; readonly analysis: Analysis | null }
  | { readonly kind: 'digested'; readonly digest: unknown }
  /** The bytes of the frame are the document. */
  | { readonly kind: 'rendered' }
  /** The bytes of the frame are its content. */
  | { readonly kind: 'attachment'; readonly attachment: MimeAttachment }
  | { readonly kind: 'none' }
  | { readonly kind: 'broken'; readonly message: string }
