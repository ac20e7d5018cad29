/** Work that is done one after the other, in the order in which it was asked for; what fails holds up nobody. */

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

export function inTurn(): InTurn {
  let before: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = before.then(work)
    before = mine.catch(() => undefined)
    return mine
  }
}
