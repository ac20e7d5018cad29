// The daemon, started again after each death as systemd would, with its log and what it uses of memory and descriptors.
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { environmentOfUnit } from '../lib/daemon.mjs'
import { readUse } from './machine.mjs'

const SAMPLE_INTERVAL = 2_000
const ERROR_LEVEL = 50

/** `timeline`: says which fault is under way. */
export class Supervised {
  #words
  #environment
  #timeline
  #logFile
  #isStopping = false
  #sampler
  #child = null
  #whenReady = null
  deaths = []
  /** Log lines at level error and above: { at, msg, line, life }. */
  errors = []
  warnings = new Map()
  samples = []
  life = 0
  startTimes = []

  constructor({ words, environment, timeline, folder }) {
    this.#words = words
    this.#environment = { ...environmentOfUnit(), ...environment }
    this.#timeline = timeline
    this.#logFile = createWriteStream(join(folder, 'posthorn.log'))
  }

  get pid() {
    return this.#child?.pid ?? 0
  }

  /** Resolves when the daemon says that it serves. */
  async start() {
    await this.#spawn()
    this.#sampler ??= setInterval(() => this.#sample(), SAMPLE_INTERVAL)
  }

  #spawn() {
    const begun = Date.now()
    const child = spawn(process.execPath, this.#words, { env: this.#environment, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    this.life += 1
    this.#whenReady = new Promise((ready) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (this.#readLine(line) !== 'serving') return
        this.startTimes.push(Date.now() - begun)
        ready(true)
      })
      child.once('exit', (code, signal) => {
        ready(false)
        this.#noteDeath(code, signal)
      })
    })
    createInterface({ input: child.stderr }).on('line', (line) => this.#noteError('(standard error)', line))
    return this.#whenReady
  }

  /** The `msg` of the line. */
  #readLine(line) {
    this.#logFile.write(`${line}\n`)
    try {
      const { level, msg } = JSON.parse(line)
      if (level >= ERROR_LEVEL) this.#noteError(msg, line)
      else if (level === 40) this.warnings.set(msg, (this.warnings.get(msg) ?? 0) + 1)
      return msg
    } catch {
      this.#noteError('(no JSON)', line)
      return ''
    }
  }

  #noteError(msg, line) {
    if (line.trim() === '') return
    this.errors.push({ at: Date.now(), msg, line: line.slice(0, 1_500), fault: this.#timeline.name(), life: this.life })
  }

  #noteDeath(code, signal) {
    if (this.#isStopping) return
    const isExpected = this.#timeline.isDeadly()
    this.deaths.push({ at: Date.now(), code, signal, fault: this.#timeline.name(), isExpected })
    // As RestartSec of the unit, but shorter: it is a test.
    setTimeout(() => {
      if (!this.#isStopping) void this.#spawn()
    }, 500)
  }

  /** False: it does not serve after `seconds`. */
  async serving(seconds) {
    for (const end = Date.now() + seconds * 1_000; Date.now() < end; ) {
      const ready = this.#whenReady
      const isReady = await Promise.race([ready, sleep(1_000, undefined)])
      if (isReady === true && ready === this.#whenReady) return true
      await sleep(100)
    }
    return false
  }

  #sample() {
    const use = readUse(this.pid)
    if (use !== null) this.samples.push({ at: Date.now(), life: this.life, ...use })
  }

  /** The exit status of an orderly stop. */
  async stop() {
    this.#isStopping = true
    clearInterval(this.#sampler)
    const child = this.#child
    if (child === null) return null
    const exited =
      child.exitCode !== null || child.signalCode !== null
        ? Promise.resolve()
        : new Promise((done) => child.once('exit', done))
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 60_000)
    await exited
    clearTimeout(late)
    await new Promise((done) => this.#logFile.end(done))
    return child.exitCode ?? child.signalCode
  }

  killNow() {
    this.#isStopping = true
    clearInterval(this.#sampler)
    this.#child?.kill('SIGKILL')
  }
}
