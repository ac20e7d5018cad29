/**
 * Collects V8's young generation after each few megabytes that were received.
 *
 * The bytes of a socket are outside of V8's heap, in memory that a small young object owns. V8 adds them to the size of the old
 * generation: with messages of 50 KB it collected the whole heap once in 160 messages, while the collection of the young
 * generation, which frees them in a millisecond, came once in 280.
 *
 * `gc` is an extension of V8 that Node.js does not guarantee: where it is missing, V8 decides alone.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const COLLECT_AFTER_BYTES = 4_194_304

type CollectGarbage = (options: { readonly type: 'minor' }) => void

let sinceCollection = 0
let collectGarbage: CollectGarbage | null | undefined

/** Notes the bytes of a message that has arrived as a whole. */
export function noteReceivedBytes(bytes: number): void {
  sinceCollection += bytes
  if (sinceCollection < COLLECT_AFTER_BYTES) return
  sinceCollection = 0
  if (collectGarbage === undefined) collectGarbage = findCollector()
  collectGarbage?.({ type: 'minor' })
}

/** A context that is made while the option is on has the function. */
function findCollector(): CollectGarbage | null {
  setFlagsFromString('--expose-gc')
  const found: unknown = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  return typeof found === 'function' ? (options) => found(options) : null
}
