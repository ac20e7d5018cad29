/**
 * Memory for a message whose size is told before it comes: taken as a whole, or waited for.
 *
 * It is held for who uses it. Where the message comes too slowly, what has not been used is given back, and
 * the rest of the message takes its memory as it comes; so must what is longer than it was said to be.
 */

import { type TransferPace, TransferWatch } from '../connections/transfer-pace.js'
import type { MemoryBudget } from './budget.js'
import type { MemoryHolder } from './holders.js'
import type { WaitOptions } from './queue.js'

/** What is not larger takes its memory as it comes: a short message waits behind no large one. */
export const RESERVE_FROM_BYTES = 262_144

/** Of what has memory reserved. */
const reservedPace: TransferPace = { patience: 5_000, bytesPerSecond: 131_072 }

export type ReservableMemory = Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder' | 'waitForTurn'>

/** Null: there was no room in time, or too many wait for it. */
export async function reserveMemory(
  memory: ReservableMemory,
  bytes: number,
  wait: WaitOptions,
  pace: TransferPace = reservedPace,
): Promise<MemoryReservation | null> {
  const taken = await memory.waitForTurn({ bytes, levels: [], acquire: () => memory.acquire(bytes) }, wait)
  return taken ? new MemoryReservation(memory, bytes, pace) : null
}

/** Every byte taken of it is given back once; `end` gives back what was not. */
export class MemoryReservation implements Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder'> {
  /** Taken so far. */
  bytes = 0
  private unusedBytes: number
  private readonly memory: Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder'>
  private readonly transferWatch: TransferWatch

  constructor(memory: Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder'>, bytes: number, pace: TransferPace) {
    this.memory = memory
    this.unusedBytes = bytes
    this.transferWatch = new TransferWatch(this, pace, () => this.end())
  }

  acquire(bytes: number): boolean {
    const own = Math.min(bytes, this.unusedBytes)
    if (own < bytes && !this.memory.acquire(bytes - own)) return false
    this.unusedBytes -= own
    this.bytes += bytes
    if (this.unusedBytes === 0) this.transferWatch.end()
    return true
  }

  release(bytes: number): void {
    this.memory.release(bytes)
  }

  addHolder(holder: MemoryHolder): () => void {
    return this.memory.addHolder(holder)
  }

  /** No more is taken of it; further calls do nothing. */
  end(): void {
    this.transferWatch.end()
    const left = this.unusedBytes
    this.unusedBytes = 0
    if (left > 0) this.memory.release(left)
  }
}
