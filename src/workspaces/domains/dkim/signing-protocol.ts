/**
 * The messages between the main thread and the signing thread.
 *
 * One batch is under way at a time and is answered completely, in its order, so nothing needs an id; `forget` has no
 * answer. The bytes of all messages of a batch are concatenated in one buffer, which is transferred without a copy. A
 * key is sent once; after that its number stands for it.
 */
import type { ArcSet } from './arc-seal.js'
import type { DkimKey } from './sign.js'

export type SignerMessage =
  | SigningBatch
  /** Drops all keys; numbers begin again at 0. */
  | { readonly kind: 'forget' }

export interface SigningBatch {
  readonly kind: 'batch'
  /** New keys, numbered after those sent before. */
  readonly keys: readonly DkimKey[]
  readonly jobs: readonly SigningJob[]
  readonly bytes: Uint8Array
}

/** `length`: bytes of the message in the buffer; with `bodyHash` the header only. `arc`: an ARC set is asked for. */
export type SigningJob = readonly [
  key: number,
  now: number,
  length: number,
  bodyHash: string | undefined,
  arc: ArcSet | undefined,
]

/** The field, or the reason why there is none. */
export type SigningAnswer = string | { readonly failure: string }
