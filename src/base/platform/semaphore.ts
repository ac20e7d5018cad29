/**
 * A limited number of slots with a queue: callers wait in order, each for a limited time.
 *
 * Every `acquire` that returned true must be followed by one `release`.
 */
export interface Semaphore {
  /** False if no slot became free within `maxWait` milliseconds, the queue is full, or the semaphore is closed. */
  readonly acquire: (maxWait: number) => Promise<boolean>
  readonly release: () => void
  /** All waiting and later calls of `acquire` return false. */
  readonly close: () => void
}

type Waiter = (admitted: boolean) => void

export function createSemaphore(slots: number, maxWaiting: number): Semaphore {
  const waiters = new Set<Waiter>()
  let takenSlots = 0
  let closed = false

  return {
    acquire: async (maxWait) => {
      if (closed) return false
      if (takenSlots < slots) {
        takenSlots += 1
        return true
      }
      return waiters.size < maxWaiting && (await waitForSlot(waiters, maxWait))
    },
    release: () => {
      const [next] = waiters
      // The slot passes to the next caller.
      if (next === undefined) takenSlots -= 1
      else next(true)
    },
    close: () => {
      closed = true
      for (const admit of [...waiters]) admit(false)
    },
  }
}

function waitForSlot(waiters: Set<Waiter>, maxWait: number): Promise<boolean> {
  return new Promise((resolve) => {
    const admit: Waiter = (admitted) => {
      clearTimeout(timer)
      waiters.delete(admit)
      resolve(admitted)
    }
    const timer = setTimeout(admit, maxWait, false)
    waiters.add(admit)
  })
}
