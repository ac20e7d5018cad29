// What the remote host sees: it refuses every tenth message at first, as a host with greylisting does, and notes from which address
// each attempt came.
import { Arrivals } from '../crash-parts/arrivals.mjs'

/** Every so many messages are refused at first. */
const GREYLISTED = 10

export class Attempts {
  arrivals = new Arrivals()
  /** By number: the attempts, each with its moment and address. */
  #attempts = new Map()

  /** The reply to a message; undefined is the usual one. */
  take(message, address) {
    const number = Number(/^X-Number: (\d+)/m.exec(message)?.[1])
    if (number % GREYLISTED === 0) {
      const before = this.#attempts.get(number) ?? []
      this.#attempts.set(number, [...before, { at: Date.now(), address }])
      if (before.length === 0) return '451 4.7.1 come back later'
    }
    this.arrivals.take(message)
    return undefined
  }

  /** Retries that came from another address than the first attempt, although its node was not disturbed between them. */
  findStrayed(nodes) {
    const strayed = []
    for (const [number, [first, ...others]] of this.#attempts) {
      const node = nodes.find(({ address }) => address === first.address)
      for (const other of others) {
        if (other.address === first.address) continue
        const isMoved = node?.troubles.some(({ from, to }) => from < other.at && to > first.at)
        if (!isMoved) strayed.push(`${number}: ${first.address}, then ${other.address}`)
      }
    }
    return { retried: [...this.#attempts.values()].filter((attempts) => attempts.length > 1).length, strayed }
  }
}
