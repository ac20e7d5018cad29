/**
 * Places of which there are only so many; who comes later waits in line, in order and for a limited time.
 *
 * Every `enter` that gave true is followed by one `leave`.
 */
export interface Semaphore {
  /** False: no place came free within `patience` milliseconds, the line is full, or it was closed. */
  readonly acquire: (patience: number) => Promise<boolean>
  readonly release: () => void
  /** Whoever waits or comes is turned away. */
  readonly close: () => void
}

type Waiter = (admitted: boolean) => void

export function createSemaphore(slots: number, maxWaiting: number): Semaphore {
  const waiters = new Set<Waiter>()
  let takenSlots = 0
  let closed = false

  return {
    acquire: async (patience) => {
      if (closed) return false
      if (takenSlots < slots) {
        takenSlots += 1
        return true
      }
      return waiters.size < maxWaiting && (await waitForSlot(waiters, patience))
    },
    release: () => {
      const [next] = waiters
      // The place goes over to whoever is next.
      if (next === undefined) takenSlots -= 1
      else next(true)
    },
    close: () => {
      closed = true
      for (const admit of [...waiters]) admit(false)
    },
  }
}

function waitForSlot(waiting: Set<Waiter>, patience: number): Promise<boolean> {
  return new Promise((resolve) => {
    const admit: Waiter = (isIn) => {
      clearTimeout(timer)
      waiting.delete(admit)
      resolve(isIn)
    }
    const timer = setTimeout(admit, patience, false)
    waiting.add(admit)
  })
}
