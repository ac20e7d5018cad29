/** What a message is taken apart into, and what the thread that does it says. */

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
export type Unreadable = 'gone' | 'broken' | 'time' | 'memory'

/** What rooms above have made of a message in the same thread; null: it was too much for them. */
export type StudyResult =
  | { readonly kind: 'studied'; readonly parts: MimeParts; readonly study: unknown }
  | Extract<MimeResult, { readonly kind: 'unreadable' }>

/**
 * The export `study` of a module that a reader is given. It runs in the thread, within its time
 * and its memory; `facts` and what it returns are structured clones.
 */
export type Study = (raw: Buffer, parts: MimeParts, facts: unknown) => unknown

export type MimeResult =
  | { readonly kind: 'parts'; readonly parts: MimeParts }
  | { readonly kind: 'unreadable'; readonly why: Unreadable; readonly message: string }

/** `none`: the message has no such attachment. */
export type AttachmentResult =
  | { readonly kind: 'attachment'; readonly attachment: MimeAttachment; readonly bytes: Buffer }
  | { readonly kind: 'none' }
  | Extract<MimeResult, { readonly kind: 'unreadable' }>

/** `readable`: its parts, with a text of its HTML where it has none. */
export type Wanted =
  | { readonly kind: 'parts' | 'readable' }
  | { readonly kind: 'studied'; readonly facts: unknown }
  | { readonly kind: 'attachment'; readonly place: number }

/** What the thread is started with: the module of a `Study`, if it has one. */
export interface ThreadData {
  readonly study: string | null
}

/** A message for the thread. */
export interface ToMimeThread {
  readonly raw: Uint8Array<ArrayBuffer>
  readonly wanted: Wanted
}

/** What the thread says: that it has taken a message up, then what came of it. */
export type FromMimeThread =
  | { readonly kind: 'begun' }
  | { readonly kind: 'parts'; readonly parts: MimeParts }
  /** Before its study, which may take the thread down. */
  | { readonly kind: 'parsed'; readonly parts: MimeParts }
  | { readonly kind: 'studied'; readonly study: unknown }
  /** The first `attachment.size` bytes of the memory are its content. */
  | { readonly kind: 'attachment'; readonly attachment: MimeAttachment; readonly memory: ArrayBuffer }
  | { readonly kind: 'none' }
  | { readonly kind: 'broken'; readonly message: string }
