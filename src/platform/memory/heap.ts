/**
 * Limits how far V8 lets the heap grow before it collects the old generation.
 *
 * By default the heap may grow to several times its live size, and the garbage of a busy quarter of an hour fills
 * the memory of a small machine. A limit of 30 % costs a few more collections on other threads, and no measurable
 * throughput (docs/performance.md).
 *
 * This is an option of V8, which Node.js does not guarantee: a version that does not know it prints a warning on
 * standard error and goes on.
 */
import { setFlagsFromString } from 'node:v8'

export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=30')
}
