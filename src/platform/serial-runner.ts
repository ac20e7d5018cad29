/** Work that is done one after the other, in the order in which it was asked for; what fails holds up nobody. */

export type SerialRunner = <T>(work: () => Promise<T>) => Promise<T>

export function createSerialRunner(): SerialRunner {
  let lastWork: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = lastWork.then(work)
    lastWork = mine.catch(() => undefined)
    return mine
  }
}
