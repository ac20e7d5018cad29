// What the daemon has acknowledged, and what has arrived: in memory for the comparison at the end, and on disk line by
// line, so that a failed run can be read.
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'

/** Kinds of unexpected answers that are kept with their first words. */
const MAX_KINDS = 200

export class Ledger {
  #number = 0
  #file
  #arrivalFile
  /** By number: { via, id, keys, at }. */
  accepted = new Map()
  /** By local part of the recipient: [{ at, cut }]. `cut`: our 250 did not reach the daemon. */
  arrivals = new Map()
  /** By number: how often a request with an idempotency key was made, and when first and last. */
  once = new Map()
  broadcasts = []
  exports = []
  counts = {}
  lastAt = {}
  unexpected = new Map()
  /** Other requests that were answered: by kind. */
  served = {}

  constructor(folder) {
    this.#file = createWriteStream(join(folder, 'accepted.jsonl'))
    this.#arrivalFile = createWriteStream(join(folder, 'arrivals.jsonl'))
  }

  nextNumber() {
    this.#number += 1
    return this.#number
  }

  accept(via, number, id, keys) {
    const at = Date.now()
    this.accepted.set(number, { via, id, keys, at })
    this.counts[via] = (this.counts[via] ?? 0) + 1
    this.lastAt[via] = at
    this.#file.write(`${JSON.stringify({ number, via, id, keys, at })}\n`)
  }

  expectOnce(number) {
    const known = this.once.get(number)
    this.once.set(number, { tries: (known?.tries ?? 0) + 1, firstAt: known?.firstAt ?? Date.now(), lastAt: Date.now() })
  }

  /** The record of the arrival; its `cut` may be set later. */
  arrive(key, cut) {
    const arrival = { at: Date.now(), cut }
    const known = this.arrivals.get(key)
    if (known === undefined) this.arrivals.set(key, [arrival])
    else known.push(arrival)
    this.lastAt.sink = arrival.at
    this.#arrivalFile.write(`${JSON.stringify({ key, ...arrival })}\n`)
    return arrival
  }

  serve(kind) {
    this.served[kind] = (this.served[kind] ?? 0) + 1
    this.lastAt[kind] = Date.now()
  }

  /** An answer that is neither success nor a temporary refusal. `fault`: the one under way. */
  surprise(who, words, fault) {
    const kind = `${who}: ${words.slice(0, 300)}`
    const known = this.unexpected.get(kind)
    if (known !== undefined) known.times += 1
    else if (this.unexpected.size < MAX_KINDS) this.unexpected.set(kind, { times: 1, fault, at: Date.now() })
  }

  async close() {
    await Promise.all([this.#file, this.#arrivalFile].map((file) => new Promise((done) => file.end(done))))
  }
}
