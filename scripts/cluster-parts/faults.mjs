// What is done to nodes and to their database under load, in a random order.
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { programOf } from '../lib/daemon.mjs'
import { readRows } from '../lib/rows.mjs'

/** Milliseconds: a node that is away for longer is adopted. */
const [SHORT, LONG] = [3_000, 34_000]
/** Milliseconds for which a frozen node gives no sign. */
const FROZEN = 60_000
/** Milliseconds of work between two faults, at most. */
const PAUSE = 1_500

export class Faults {
  #deps
  #times = []
  #deadlocks = 0

  constructor(deps) {
    this.#deps = deps
  }

  /** `times`: from when until when nothing could be stored, or a delivery may have been cut off. */
  async run(counts) {
    const { ledger, attempts, random } = this.#deps
    const planned = this.#plan(counts)
    for (const [at, fault] of planned.entries()) {
      await sleep(random() * PAUSE)
      await fault()
      if ((at + 1) % 10 === 0)
        console.log(
          `${at + 1} of ${planned.length} faults, ${ledger.size} accepted, ${attempts.arrivals.numbers.size} delivered`,
        )
    }
    const [{ count }] = await readRows(this.#deps.database(), 'select sum(epoch) as count from fence')
    const adoptions = Number(count)
    return { times: this.#times, deadlocks: this.#deadlocks, adoptions }
  }

  #plan({ kills, pairs, freezes, cuts, failovers, drains }) {
    const { nodes, random } = this.#deps
    const any = () => nodes[Math.floor(random() * nodes.length)]
    const times = (count, fault) => Array.from({ length: count }, () => fault)
    const all = [
      ...nodes.flatMap((node) => times(kills, () => this.#kill([node]))),
      ...times(pairs, () => this.#kill(nodes.toSpliced(Math.floor(random() * nodes.length), 1))),
      ...times(freezes, () => this.#freeze(any())),
      ...times(cuts, () => this.#cut(any())),
      ...times(failovers, () => this.#failOver()),
      ...times(drains, () => this.#drain(any())),
    ]
    return all
      .map((fault) => ({ fault, place: random() }))
      .sort((one, other) => one.place - other.place)
      .map(({ fault }) => fault)
  }

  async #kill(victims) {
    const { random } = this.#deps
    const end = this.#begin(victims)
    await Promise.all(victims.map((node) => node.kill()))
    await sleep(random() < 0.3 ? LONG : random() * SHORT)
    for (const node of victims) await node.start()
    end()
  }

  async #freeze(node) {
    const end = this.#begin([node])
    node.freeze()
    await sleep(FROZEN)
    node.thaw()
    await sleep(SHORT)
    await node.ready()
    end()
  }

  async #cut(node) {
    const { random } = this.#deps
    const end = this.#begin([node])
    await node.cut(true)
    await sleep(random() < 0.5 ? LONG + 10_000 : random() * 20_000)
    await node.cut(false)
    await sleep(SHORT)
    await node.ready()
    end()
  }

  async #failOver() {
    const { nodes, postgres, database, random } = this.#deps
    this.#deadlocks += await countDeadlocks(database())
    const end = this.#begin(nodes)
    await postgres.cut({ pause: random() * 4_000, muted: 0 })
    await sleep(SHORT)
    for (const node of nodes) await node.ready()
    end()
  }

  async #drain(node) {
    const end = this.#begin([node])
    const words = ['node', 'drain', node.name, '--config', node.file]
    await promisify(execFile)(process.execPath, [programOf(), ...words])
    const status = await node.stop()
    if (status !== 0) node.fault = `ended with ${status} after it was drained`
    await node.start()
    end()
  }

  /** The nodes are disturbed from now on. The result says that they are well again. */
  #begin(nodes) {
    const time = { from: Date.now(), to: Infinity }
    this.#times.push(time)
    for (const node of nodes) node.troubles.push(time)
    return () => {
      time.to = Date.now()
    }
  }
}

export async function countDeadlocks(database) {
  const [{ count }] = await readRows(
    database,
    'select deadlocks as count from pg_stat_database where datname = current_database()',
  )
  return Number(count)
}
