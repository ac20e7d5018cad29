/** What a message is taken apart into, and what the process that does it says. */

export interface MimeField {
  /** As written. */
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

/** `gone`: its bytes are not there any more. */
export type UnreadableReason = 'gone' | 'broken' | 'time' | 'memory'

/** What a record keeps of a message whose bodies are not asked for. */
export interface MimeOutline {
  readonly hasHtml: boolean
  readonly hasText: boolean
  readonly attachments: number
}

/** What rooms above have made of a message in the same process; null: it was too much for them. */
export type AnalysisResult =
  | { readonly kind: 'studied'; readonly outline: MimeOutline; readonly analysis: unknown }
  | UnreadableResult

/**
 * The export `study` of a module that a reader is given. It runs in the process, within its time
 * and its memory; `facts` and what it returns cross as JSON.
 */
export type AnalyzeContent = (raw: Buffer, parts: MimeParts, facts: unknown) => unknown

/** The export `digest` of a module: as a `Study`, of a message that is not taken apart into parts. */
export type DigestMessage = (raw: Buffer, facts: unknown) => unknown

export type DigestResult = { readonly kind: 'digested'; readonly digest: unknown } | UnreadableResult

export interface UnreadableResult {
  readonly kind: 'unreadable'
  readonly why: UnreadableReason
  readonly message: string
}

export type MimeResult = { readonly kind: 'parts'; readonly parts: MimeParts } | UnreadableResult

/**
 * For people who read: the bodies as JSON texts, for an answer that they are put into as they are. Making
 * JSON of megabytes would hold up the thread that answers. Null: there is none.
 */
export interface ReadableParts extends Omit<MimeParts, 'html' | 'text'> {
  readonly html: Buffer | null
  readonly text: Buffer | null
}

export type ReadableResult = { readonly kind: 'readable'; readonly parts: ReadableParts } | UnreadableResult

/** `none`: the message has no such attachment. */
export type AttachmentResult =
  | { readonly kind: 'attachment'; readonly attachment: MimeAttachment; readonly bytes: Buffer }
  | { readonly kind: 'none' }
  | UnreadableResult

/** `readable`: its parts, with a text of its HTML where it has none. `module`: its URL. */
export type MimeRequest =
  | { readonly kind: 'parts' | 'readable' }
  | { readonly kind: 'studied'; readonly facts: unknown }
  | { readonly kind: 'digested'; readonly module: string; readonly facts: unknown }
  | { readonly kind: 'attachment'; readonly index: number }

/** What the process is started with, as its argument: limits, and the module of a `Study` if it has one. */
export interface ProcessData {
  readonly analysisModule: string | null
  /** Megabytes of resident memory. */
  readonly resident: number
}

/** What comes before the bytes of a message, in the same frame. */
export interface ToMimeProcess {
  readonly request: MimeRequest
}

/** Bodies are the bytes of the frame, in UTF-8, those of `readable` as JSON: first the HTML, then the text. Null: there is none. */
export interface BodyLengths {
  readonly html: number | null
  readonly text: number | null
}

/** What the process says: that it can take a message up, then what came of each. */
export type FromMimeProcess =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'parts' | 'readable'
      readonly parts: Omit<MimeParts, 'html' | 'text'>
      readonly bodies: BodyLengths
    }
  /** Before its study, which may take the process down. */
  | { readonly kind: 'outlined'; readonly outline: MimeOutline }
  | { readonly kind: 'studied'; readonly analysis: unknown }
  | { readonly kind: 'digested'; readonly digest: unknown }
  /** The bytes of the frame are its content. */
  | { readonly kind: 'attachment'; readonly attachment: MimeAttachment }
  | { readonly kind: 'none' }
  | { readonly kind: 'broken'; readonly message: string }
