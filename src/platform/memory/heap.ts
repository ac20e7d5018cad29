/**
 * How far V8 lets the heap grow before it collects the old generation.
 *
 * Left alone it waits until the heap is several times as large as what is alive: what a
 * busy quarter of an hour has left behind then fills the memory of a small machine. A
 * third on top costs a few more collections on other threads, and no throughput that
 * could be measured (docs/performance.md).
 *
 * An option of V8's, without Node.js's promise to keep it: a version that does not know it
 * says so on standard error and goes on.
 */
import { setFlagsFromString } from 'node:v8'

export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=30')
}
