/**
 * The messages between the main thread and the signing thread.
 *
 * The thread has one batch at a time and answers it completely, in its order, so nothing needs an id. `forget` has
 * no answer. One buffer holds the bytes of all messages of a batch, and is transferred without a copy. A key is sent
 * once. After that its number stands for it.
 */
import type { ArcSet } from './arc-seal.js'
import type { DkimKey } from './sign.js'

export type SignerMessage =
  | SigningBatch
  /** Drops all keys. Numbers start at 0 again. */
  | { readonly kind: 'forget' }

export interface SigningBatch {
  readonly kind: 'batch'
  /** New keys. Their numbers follow those of the keys sent before. */
  readonly keys: readonly DkimKey[]
  readonly jobs: readonly SigningJob[]
  readonly bytes: Uint8Array
}

/**
 * `length` is the number of bytes of the message in the buffer. With `bodyHash` these are the header only. `arc`
 * asks for an ARC set.
 */
export type SigningJob = readonly [
  key: number,
  now: number,
  length: number,
  bodyHash: string | undefined,
  arc: ArcSet | undefined,
]

/** The field, or the reason why there is none. */
export type SigningAnswer = string | { readonly failure: string }
