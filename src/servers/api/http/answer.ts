/** The kinds of answer that a route gives: JSON, text, bytes, a page, a redirect, a file, a stream or nothing. */
import type { ReadableFile } from '../../../base/platform/readable-file.js'

export type Answer =
  | {
      readonly kind: 'json'
      readonly status: number
      readonly body: unknown
      /** A list is sent as several fields of the name. */
      readonly headers?: Readonly<Record<string, string | string[]>>
      /** Ids of the emails that the request accepted, for its log line. */
      readonly emails?: readonly string[]
    }
  /** JSON that is already serialized. */
  | {
      readonly kind: 'text'
      readonly status: number
      readonly json: string
      readonly emails?: readonly string[]
    }
  | {
      readonly kind: 'bytes'
      readonly type: string
      /** Pieces are sent one after the other. */
      readonly bytes: Buffer | readonly Buffer[]
      readonly headers?: Readonly<Record<string, string>>
    }
  | StreamAnswer
  | FileAnswer
  /** 302. */
  | { readonly kind: 'redirect'; readonly location: string; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly kind: 'page'
      readonly status: number
      readonly html: string
      readonly headers: Readonly<Record<string, string>>
    }
  | {
      readonly kind: 'nothing'
      /** 204 if it is absent. */
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      readonly emails?: readonly string[]
    }

/** Bytes of any length, in pieces that are produced as the client reads them. */
export interface StreamAnswer {
  readonly kind: 'stream'
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  readonly pieces: AsyncIterable<string | Buffer>
}

/** A file, in one range if the client asks for one, or compressed. */
export interface FileAnswer {
  readonly kind: 'file'
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  /** The ETag of these bytes, without its quotes. */
  readonly tag: string
  /** The answer closes it. */
  readonly file: ReadableFile
}

/** The same type, or `never` where it has a promise, which JSON would show as `{}`. */
type Settled<Body> =
  Body extends PromiseLike<unknown>
    ? never
    : Body extends object
      ? { readonly [Name in keyof Body]: Settled<Body[Name]> }
      : Body

/** What is read for the body is awaited before. */
export const json = <Body>(status: number, body: Body & Settled<Body>): Answer => ({ kind: 'json', status, body })
/** 204 without a body. */
export const noContent: Answer = { kind: 'nothing' }
