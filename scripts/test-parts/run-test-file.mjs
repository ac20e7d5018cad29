/** A process in which test files run one after the other, and what the TAP that it prints says of each. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Parser } from 'tap-parser'

/** Milliseconds. A file that takes longer is ended with its process, and has failed. */
const LIMIT = 240_000
/** Milliseconds for the end of a process whose files have all ended. */
const END_LIMIT = 10_000
/** Bytes after which a process gets no further file. */
const MAX_MEMORY = 1_200_000_000

const program = fileURLToPath(new URL('test-process.mjs', import.meta.url))

export class TestProcess {
  #root
  #child
  /** Of the file that runs, and what to call with the test point that ends it. */
  #outcome = null
  #onFileEnd = null
  #exit
  /** Resolves when the child asks for its next file, with what it has used. */
  #asks
  /** It gets no further file. */
  #isFull = false
  #usedCpu = 0
  /** Files that ran here. */
  files = []

  /** `environment`: variables beside those of this process. */
  constructor(root, environment) {
    this.#root = root
    this.#child = fork(program, [], {
      env: { ...process.env, ...environment, TAP: '1', TAP_TIMEOUT: '0' },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    const parser = new Parser()
    parser.on('child', (files) => this.#follow(files))
    this.#child.stdout.pipe(parser)
    this.#asks = this.#nextAsk()
    this.#exit = once(this.#child, 'exit').then(([status, signal]) => ({ status, signal }))
  }

  /** May it run another file? */
  get isUsable() {
    return !this.#isFull && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /**
   * Resolves to `{ file, seconds, cpu, pass, fail, skip, failures, skips }`: assertions that are no summaries of others.
   * A file that breaks off, or that asserts nothing, has one failure more.
   */
  async run(file) {
    this.files.push(file)
    const outcome = { file, seconds: 0, cpu: 0, pass: 0, fail: 0, skip: 0, failures: [], skips: [] }
    await Promise.race([this.#asks, this.#exit])
    this.#asks = this.#nextAsk()
    const begun = performance.now()
    const ended = this.#read(outcome)
    this.#send({ path: join(this.#root, file), name: file })
    let timer
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, LIMIT, `it was ended after ${LIMIT / 1000} s`)
    })
    const broken = this.#exit.then(({ status, signal }) => `its process ended with ${signal ?? `status ${status}`}`)
    const why = await Promise.race([ended, late, broken])
    clearTimeout(timer)
    outcome.seconds = (performance.now() - begun) / 1000
    if (why === null) await this.#measure(outcome)
    else await this.#kill()
    note(outcome, why)
    return outcome
  }

  /** Ends the process. Resolves to what was wrong with its end, or null. */
  async end() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return null
    this.#isFull = true
    this.#send(null)
    const timer = setTimeout(() => void this.#kill(), END_LIMIT)
    const { status, signal } = await this.#exit
    clearTimeout(timer)
    if (signal !== null) return `their process did not end within ${END_LIMIT / 1000} s: something is left open`
    return status > 1 ? `their process ended with status ${status}` : null
  }

  /** A process that ends while it is sent something has the error of its exit alone. */
  #send(message) {
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  /** The test `files` has a subtest for each file. */
  #follow(files) {
    files.on('child', (child) => countAssertions(child, this.#outcome))
    files.on('assert', (assertion) => {
      if (assertion.name === this.#outcome.file) this.#onFileEnd(assertion)
    })
  }

  /** Resolves to null when the file has ended, to a sentence if that was no good end. */
  #read(outcome) {
    this.#outcome = outcome
    return new Promise((resolve) => {
      this.#onFileEnd = ({ ok }) =>
        resolve(ok || outcome.fail > 0 ? null : 'its TAP is not well formed or its plan was not kept')
    })
  }

  /** tap sends messages of its own. */
  async #nextAsk() {
    for (;;) {
      const [message] = await once(this.#child, 'message')
      if ('cpu' in message) return message
    }
  }

  async #measure(outcome) {
    const usage = await Promise.race([this.#asks, this.#exit.then(() => null)])
    if (usage === null) return
    outcome.cpu = usage.cpu - this.#usedCpu
    this.#usedCpu = usage.cpu
    this.#isFull = usage.memory > MAX_MEMORY
  }

  /** Children of the test file may outlive it and hold its standard output open: reading ends. */
  async #kill() {
    this.#isFull = true
    this.#child.kill('SIGKILL')
    this.#child.stdout.unpipe().destroy()
    await this.#exit
  }
}

/** A test point that follows a subtest is its summary. */
function countAssertions(parser, outcome) {
  let ofSubtest = false
  parser.on('child', (child) => {
    ofSubtest = true
    countAssertions(child, outcome)
  })
  parser.on('assert', (assertion) => {
    const isSummary = ofSubtest
    ofSubtest = false
    const leftOut = assertion.skip !== false || assertion.todo !== false
    if (isSummary && !leftOut) return
    if (leftOut) {
      outcome.skip += 1
      outcome.skips.push({ name: assertion.name, why: assertion.skip || assertion.todo })
    } else if (assertion.ok) outcome.pass += 1
    else {
      outcome.fail += 1
      outcome.failures.push({ name: assertion.fullname, details: assertion.diag })
    }
  })
}

function note(outcome, why) {
  const fault = why ?? (outcome.pass + outcome.skip + outcome.fail === 0 ? 'it asserted nothing' : null)
  if (fault === null || outcome.fail > 0) return
  outcome.fail += 1
  outcome.failures.push({ name: fault, details: '' })
}
