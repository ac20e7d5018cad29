/** The memory for the message of a DATA command whose size was declared: waited for, reserved, given back. */
import type { MemoryBudget } from '../platform/memory/budget.js'
import { type ReservableMemory, type Reservation, reserve } from '../platform/memory/reservation.js'

export class DataMemory {
  private waiting: AbortController | null = null
  private reserved: Reservation | null = null

  get isWaiting(): boolean {
    return this.waiting !== null
  }

  /** False: there was no room in time, or `leave` was called. */
  async reserve(memory: ReservableMemory, size: number, patience: number): Promise<boolean> {
    const waiting = new AbortController()
    this.waiting = waiting
    const reserved = await reserve(memory, size, { patience, signal: waiting.signal })
    this.waiting = null
    if (waiting.signal.aborted) reserved?.end()
    else this.reserved = reserved
    return reserved !== null && !waiting.signal.aborted
  }

  /** Of what the message takes its memory. */
  of(memory: MemoryBudget): Pick<MemoryBudget, 'take' | 'give' | 'enter'> {
    return this.reserved ?? memory
  }

  /** Ends the wait, and gives back what is reserved and not used. */
  leave(): void {
    this.waiting?.abort()
    this.reserved?.end()
    this.reserved = null
  }
}
