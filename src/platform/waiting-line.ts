/**
 * Places of which there are only so many; who comes later waits in line, in order and for a limited time.
 *
 * Every `enter` that gave true is followed by one `leave`.
 */
export interface WaitingLine {
  /** False: no place came free within `patience` milliseconds, the line is full, or it was closed. */
  readonly enter: (patience: number) => Promise<boolean>
  readonly leave: () => void
  /** Whoever waits or comes is turned away. */
  readonly close: () => void
}

type Admit = (admitted: boolean) => void

export function waitingLine(places: number, mostWaiting: number): WaitingLine {
  const waiting = new Set<Admit>()
  let taken = 0
  let closed = false

  return {
    enter: async (patience) => {
      if (closed) return false
      if (taken < places) {
        taken += 1
        return true
      }
      return waiting.size < mostWaiting && (await admitted(waiting, patience))
    },
    leave: () => {
      const [next] = waiting
      // The place goes over to whoever is next.
      if (next === undefined) taken -= 1
      else next(true)
    },
    close: () => {
      closed = true
      for (const admit of [...waiting]) admit(false)
    },
  }
}

function admitted(waiting: Set<Admit>, patience: number): Promise<boolean> {
  return new Promise((resolve) => {
    const admit: Admit = (isIn) => {
      clearTimeout(timer)
      waiting.delete(admit)
      resolve(isIn)
    }
    const timer = setTimeout(admit, patience, false)
    waiting.add(admit)
  })
}
