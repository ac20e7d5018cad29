/**
 * Limits how far V8 lets the heap grow before it collects the old generation, and the young generations of threads.
 *
 * By default the heap may grow to several times its live size, and the garbage of a busy quarter of an hour fills
 * the memory of a small machine. V8 counts received bytes outside of the heap as growth too: at a limit of 30 % it
 * collected everything once in 400 messages of 50 KB, and its threads took a fifth of the CPU of a message
 * (docs/performance.md).
 *
 * The young generation of a thread is three times a semi-space. Since version 24 of Node.js that may have more than 16 MB: with
 * inbound mail the process held 630 MB instead of 400, and was 4 % faster at most.
 *
 * These are options of V8, which Node.js does not guarantee: a version that does not know one prints a warning on
 * standard error and goes on.
 */
import { setFlagsFromString } from 'node:v8'

/** Before any thread is started. */
export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=60')
  setFlagsFromString('--max-semi-space-size=16')
}
