/**
 * Limits how far V8 lets the heap grow before it collects the old generation.
 *
 * By default the heap may grow to several times its live size, and the garbage of a busy quarter of an hour fills
 * the memory of a small machine. V8 counts received bytes outside of the heap as growth too: at a limit of 30 % it
 * collected everything once in 400 messages of 50 KB, and its threads took a fifth of the CPU of a message
 * (docs/performance.md).
 *
 * This is an option of V8, which Node.js does not guarantee: a version that does not know it prints a warning on
 * standard error and goes on.
 */
import { setFlagsFromString } from 'node:v8'

export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=60')
}
