/** The memory for the message of a DATA command whose size was declared: waited for, reserved, given back. */
import type { MemoryBudget } from '../platform/memory/budget.js'
import { type MemoryReservation, type ReservableMemory, reserveMemory } from '../platform/memory/reservation.js'

export class DataMemory {
  private waiting: AbortController | null = null
  private reserved: MemoryReservation | null = null

  get isWaiting(): boolean {
    return this.waiting !== null
  }

  /** False: there was no room in time, or `leave` was called. */
  async reserve(memory: ReservableMemory, size: number, timeout: number): Promise<boolean> {
    const waiting = new AbortController()
    this.waiting = waiting
    const reserved = await reserveMemory(memory, size, { timeout, signal: waiting.signal })
    this.waiting = null
    if (waiting.signal.aborted) reserved?.end()
    else this.reserved = reserved
    return reserved !== null && !waiting.signal.aborted
  }

  /** Of what the message takes its memory. */
  budgetFor(memory: MemoryBudget): Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder'> {
    return this.reserved ?? memory
  }

  /** Ends the wait, and gives back what is reserved and not used. */
  release(): void {
    this.waiting?.abort()
    this.reserved?.end()
    this.reserved = null
  }
}
