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
