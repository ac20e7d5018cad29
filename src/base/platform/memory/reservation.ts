/**
 * Memory for a message of declared size, acquired all at once before the message arrives.
 *
 * If the message arrives too slowly, unused memory is released, and the rest of the message acquires memory as it
 * arrives. Any part beyond the declared size does the same.
 */
import { type TransferPace, TransferWatch } from '../connections/transfer-pace.js'
import type { MemoryBudget } from './budget.js'
import type { MemoryHolder } from './holders.js'
import type { WaitOptions } from './queue.js'

/** Smaller messages acquire memory as they arrive, so they never wait behind large ones. */
export const RESERVE_FROM_BYTES = 262_144

/** The minimum pace of a message with reserved memory. */
const reservedPace: TransferPace = { patience: 5_000, bytesPerSecond: 131_072 }

export type ReservableMemory = Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder' | 'waitForTurn'>

/** Null if there was no room in time, or too many requests wait already. */
export async function reserveMemory(
  memory: ReservableMemory,
  bytes: number,
  wait: WaitOptions,
  pace: TransferPace = reservedPace,
): Promise<MemoryReservation | null> {
  const taken = await memory.waitForTurn({ bytes, levels: [], acquire: () => memory.acquire(bytes) }, wait)
  return taken ? new MemoryReservation(memory, bytes, pace) : null
}

/** Every byte acquired must be released once; `end` releases the bytes that were never acquired. */
export class MemoryReservation implements Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder'> {
  /** Acquired so far. */
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

  /** Releases the unused part; further calls do nothing. */
  end(): void {
    this.transferWatch.end()
    const left = this.unusedBytes
    this.unusedBytes = 0
    if (left > 0) this.memory.release(left)
  }
}
