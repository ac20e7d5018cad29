/** Runs work one piece after the other, in the order of the calls. A failure does not stop those after it. */

export type SerialRunner = <T>(work: () => Promise<T>) => Promise<T>

export function createSerialRunner(): SerialRunner {
  let lastWork: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = lastWork.then(work)
    lastWork = result.catch(() => undefined)
    return result
  }
}

/** One piece of work again and again, one run after the other. Calls while a run waits for the one before it share it. */
export function shareWaitingRun<T>(work: () => Promise<T>): () => Promise<T> {
  const inTurn = createSerialRunner()
  let waiting: Promise<T> | null = null
  return () => {
    waiting ??= inTurn(() => {
      waiting = null
      return work()
    })
    return waiting
  }
}
