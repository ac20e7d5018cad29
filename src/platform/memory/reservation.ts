/**
 * Memory for a message whose size is told before it comes: taken as a whole, or waited for.
 *
 * It is held for who uses it. Where the message comes too slowly, what has not been used is given back, and
 * the rest of the message takes its memory as it comes; so must what is longer than it was said to be.
 */

import { type TransferPace, TransferWatch } from '../connections/transfer-pace.js'
import type { MemoryBudget } from './budget.js'
import type { MemoryHolder } from './holders.js'
import type { Wait } from './line.js'

/** What is not larger takes its memory as it comes: a short message waits behind no large one. */
export const RESERVED_FROM = 262_144

/** Of what has memory reserved. */
const reservedPace: TransferPace = { patience: 5_000, bytesPerSecond: 131_072 }

export type ReservableMemory = Pick<MemoryBudget, 'take' | 'give' | 'enter' | 'awaitTurn'>

/** Null: there was no room in time, or too many wait for it. */
export async function reserve(
  memory: ReservableMemory,
  bytes: number,
  wait: Wait,
  pace: TransferPace = reservedPace,
): Promise<Reservation | null> {
  const taken = await memory.awaitTurn({ bytes, levels: [], take: () => memory.take(bytes) }, wait)
  return taken ? new Reservation(memory, bytes, pace) : null
}

/** Every byte taken of it is given back once; `end` gives back what was not. */
export class Reservation implements Pick<MemoryBudget, 'take' | 'give' | 'enter'> {
  /** Taken so far. */
  bytes = 0
  private left: number
  private readonly memory: Pick<MemoryBudget, 'take' | 'give' | 'enter'>
  private readonly watch: TransferWatch

  constructor(memory: Pick<MemoryBudget, 'take' | 'give' | 'enter'>, bytes: number, pace: TransferPace) {
    this.memory = memory
    this.left = bytes
    this.watch = new TransferWatch(this, pace, () => this.end())
  }

  take(bytes: number): boolean {
    const own = Math.min(bytes, this.left)
    if (own < bytes && !this.memory.take(bytes - own)) return false
    this.left -= own
    this.bytes += bytes
    if (this.left === 0) this.watch.end()
    return true
  }

  give(bytes: number): void {
    this.memory.give(bytes)
  }

  enter(holder: MemoryHolder): () => void {
    return this.memory.enter(holder)
  }

  /** No more is taken of it; further calls do nothing. */
  end(): void {
    this.watch.end()
    const left = this.left
    this.left = 0
    if (left > 0) this.memory.give(left)
  }
}
