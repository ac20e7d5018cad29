/**
 * What the main thread and the signing thread say to each other.
 *
 * One batch is under way at a time and is answered as a whole, in its order, so nothing
 * needs an id; to forget is not answered. The bytes of all messages of a batch lie in one buffer, one behind the
 * other, and are handed over without a further copy. A key crosses once; after that it is
 * a number, its place in the order of keys.
 */
import type { DkimKey } from './sign.js'

export type SignerMessage =
  | SigningBatch
  /** Keys given before are not needed any more; numbers begin again at 0. */
  | { readonly kind: 'forget' }

export interface SigningBatch {
  readonly kind: 'batch'
  /** New ones, numbered on from those before. */
  readonly keys: readonly DkimKey[]
  readonly jobs: readonly SigningJob[]
  readonly bytes: Uint8Array
}

/** `length`: of its bytes. With `bodyHash` these are only the header. */
export type SigningJob = readonly [key: number, now: number, length: number, bodyHash: string | undefined]

/** The field, or why there is none. */
export type SigningAnswer = string | { readonly failure: string }
