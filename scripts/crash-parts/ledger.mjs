// Compares the answers that clients got with the database and the sink.
//
// Every number is one email that a client requested. `once` holds those that were sent under an
// idempotency key, and again after every cut until there was an answer: each must be one email.
import { setTimeout as sleep } from 'node:timers/promises'
import { openRows, readRows } from '../lib/rows.mjs'
import { Refusals } from './refusals.mjs'

/** The listeners that accept messages. */
const DOORS = ['smtp', 'rest', 'mx']

export class Ledger {
  /** By number: the listener, and the id that was answered. */
  #accepted = new Map()
  /** By number: requests that were made for it, and when the last of them began. */
  #once = new Map()
  #strange = []
  #refusals = new Refusals()
  #number = 0
  /** For each life of the daemon, the listeners that have accepted something in it. */
  #lives = [new Set()]

  nextNumber() {
    this.#number += 1
    return this.#number
  }

  accepted(listener, number, id) {
    this.#accepted.set(number, { listener, id })
    this.#lives.at(-1).add(listener)
  }

  /** A temporary refusal of a request that began at `begun`. Messages of SMTP are sent once. */
  refused(listener, number, answer, begun = 0) {
    this.#refusals.add(listener, number, answer, begun)
  }

  /** A connection ended, or a client waited in vain. */
  unanswered() {
    this.#refusals.addUnanswered()
  }

  /** From now on the daemon lives, and has to answer. */
  expectAnswers() {
    this.#refusals.expectAnswers()
  }

  /** To be called before each start of the daemon, or after each of its server. */
  beginLife() {
    this.#lives.push(new Set())
  }

  /** Resolves when each listener has accepted something in this life, or after `limit` milliseconds. */
  async allAccepting(limit) {
    const life = this.#lives.at(-1)
    for (let waited = 0; waited < limit && life.size < DOORS.length; waited += 10) await sleep(10)
  }

  /** By listener, what it has accepted, for `isExercised`. */
  countAccepted() {
    const accepted = [...this.#accepted.values()]
    const count = (door) => accepted.filter(({ listener }) => listener === door).length
    return Object.fromEntries(DOORS.map((door) => [`messages accepted by ${door}`, count(door)]))
  }

  expectOnce(number) {
    const tries = (this.#once.get(number)?.tries ?? 0) + 1
    this.#once.set(number, { tries, lastAt: Date.now() })
  }

  /** An unexpected answer: printed at the end, and the test has failed. */
  strange(words) {
    this.#strange.push(words)
  }

  get size() {
    return this.#accepted.size
  }

  /**
   * Prints the figures; `good` if nothing is wrong. `arrivals`: by number, how often it came to the sink. `repeated`: requests
   * with an idempotency key that were made again after a cut.
   */
  async balance(database, arrivals) {
    const emails = await emailsByNumber(database)
    const listeners = ['smtp', 'rest'].map((listener) => this.#balanceOf(listener, emails, arrivals))
    listeners.push(await this.#mxBalance(database))
    for (const { line } of listeners) console.log(line)
    console.log(this.#livesLine())
    const once = this.#onceBalance(emails)
    console.log(once.line)
    const inbound = await inboundByNumber(database)
    const twice = [...emails.values(), ...inbound.values()].filter((rows) => rows.length > 1).length
    const refusals = this.#refusals.balance(new Map([...emails, ...inbound]))
    console.log(`accepted twice ${twice}; ${refusals.line}`)
    for (const words of new Set(this.#strange)) console.log(`answered: ${words}`)
    const lost = listeners.reduce((sum, listener) => sum + listener.lost, 0)
    const good = once.good && twice === 0 && refusals.kept === 0 && this.#strange.length === 0
    return { lost, good, repeated: once.repeated, refused: this.#refusals.size }
  }

  #livesLine() {
    const count = (door) => this.#lives.filter((life) => life.has(door)).length
    return `lives ${this.#lives.length - 1}, in which it accepted: ${DOORS.map((door) => `${door} ${count(door)}`).join(', ')}`
  }

  #balanceOf(listener, emails, arrivals) {
    const accepted = [...this.#accepted].filter(([, answer]) => answer.listener === listener)
    const stored = accepted.filter(([number, { id }]) => emails.get(number)?.some((email) => email.id === id))
    const delivered = stored.filter(([number]) => arrivals.has(number))
    const lost = accepted.length - delivered.length
    const words = `accepted ${accepted.length}, in the database ${stored.length}, delivered ${delivered.length}`
    return { lost, line: `${listener}: ${words}, lost ${lost}` }
  }

  /**
   * Inbound mail is not lost if it was processed and announced, once each; or if it was in hand at two
   * kills and was filed unread for that reason, with its bytes.
   */
  async #mxBalance(database) {
    const accepted = [...this.#accepted.values()].filter(({ listener }) => listener === 'mx')
    const inbound = await inboundById(database)
    const stored = accepted.filter(({ id }) => inbound.has(id))
    const done = stored.filter(({ id }) => inbound.get(id).status === 'processed' && inbound.get(id).announced === 1)
    const unread = stored.filter(({ id }) => inbound.get(id).status === 'failed' && inbound.get(id).kept)
    const words = `accepted ${accepted.length}, in the database ${stored.length}, looked at and announced once ${done.length}`
    return {
      lost: accepted.length - done.length - unread.length,
      line: `mx: ${words}, in hand at two kills and filed unread ${unread.length}`,
    }
  }

  #onceBalance(emails) {
    const expectedOnce = [...this.#once]
    const made = (number) => emails.get(number) ?? []
    const unanswered = expectedOnce.filter(([number]) => !this.#accepted.has(number)).length
    const exactlyOne = expectedOnce.filter(([number]) => made(number).length === 1).length
    const repeated = expectedOnce.filter(([, { tries }]) => tries > 1)
    // It existed before the answered request: that answer is the first one, repeated.
    const again = repeated.filter(([number, { lastAt }]) =>
      made(number).some((email) => email.created_at < lastAt),
    ).length
    const words = `expected ${expectedOnce.length}, exactly one email ${exactlyOne}, repeated after a cut ${repeated.length}`
    return {
      repeated: repeated.length,
      good: unanswered === 0 && exactlyOne === expectedOnce.length,
      line: `idempotent: ${words} (${again} had been taken before the cut), unanswered ${unanswered}`,
    }
  }
}

async function emailsByNumber(database) {
  return groupByNumber(
    await readRows(database, `select id, subject, created_at from emails where broadcast_id is null`),
  )
}

async function inboundByNumber(database) {
  return groupByNumber(await readRows(database, 'select id, subject, received_at as created_at from inbound_emails'))
}

function groupByNumber(rows) {
  const numbered = rows.map(({ subject, ...row }) => ({ ...row, number: Number(/^number (\d+)$/.exec(subject)?.[1]) }))
  // Mail of the service itself has no number.
  const sent = numbered.filter(({ number }) => !Number.isNaN(number))
  return Map.groupBy(sent, ({ number }) => number)
}

async function inboundById(database) {
  const rows = await openRows(database)
  const announced = new Map()
  for (const { data } of await rows.read(`select data from events where type = 'email.received'`, [])) {
    const id = JSON.parse(data).inbound_email_id
    announced.set(id, (announced.get(id) ?? 0) + 1)
  }
  const inbound = new Map()
  const emails = `select id, status, (select count(*) from inbound_raw where inbound_id = id) as kept from inbound_emails`
  for (const { id, status, kept } of await rows.read(emails, [])) {
    inbound.set(id, { status, kept: kept === 1, announced: announced.get(id) ?? 0 })
  }
  await rows.close()
  return inbound
}
