/**
 * Fuzzes one target: mutates its corpus, keeps inputs that reach new code, and reports faults, slow inputs, growth
 * of time and growth of memory. Each fault is reported once and minimized first.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { CoverageMeter } from './coverage.js'
import { findGrowth } from './growth.js'
import { minimize } from './minimize.js'
import { createRandomSource, mutate, type RandomSource } from './mutate.js'
import { DEFAULT_MAX_SIZE, DEFAULT_MAX_TIME, type FuzzTarget, faultKeyOf, findFault } from './target.js'
import { threadTime } from './thread-time.js'

interface Finding {
  readonly kind: 'fault' | 'slow' | 'growth' | 'memory' | 'hang'
  readonly key: string
  readonly detail: string
  readonly input: Buffer
}

interface FuzzResult {
  readonly inputs: number
  readonly seconds: number
  /** Inputs that reached new code. */
  readonly kept: number
  readonly blocks: number
}

interface FuzzOptions {
  readonly seconds: number
  readonly seed: number
  /** Before each input: it is what hangs or ends the thread. */
  readonly onInput: (input: Buffer) => void
  readonly onFinding: (finding: Finding) => void
  /** Asked after each batch: ends the run before its time. */
  readonly isDone?: () => boolean
}

const MAX_BATCH = 1_024
const MAX_BATCH_SECONDS = 0.5
const MAX_GROWN_HEAP = 48 * 1_048_576
/** The share of the time in which growth is measured. */
const GROWTH_SHARE = 0.2
/** Octets of most inputs: small ones are fast, and most of the code needs no more. */
const SMALL_INPUT = 4_096
const LARGE_SHARE = 0.03

export class Fuzzer {
  private readonly random: RandomSource
  private readonly meter = new CoverageMeter()
  private readonly corpus: Buffer[] = []
  private readonly words: readonly Buffer[]
  private readonly known = new Set<string>()
  private readonly maxSize: number
  private readonly maxTime: number
  private inputs = 0

  constructor(
    private readonly target: FuzzTarget,
    private readonly options: FuzzOptions,
  ) {
    this.random = createRandomSource(options.seed)
    this.maxSize = target.maxSize ?? DEFAULT_MAX_SIZE
    this.maxTime = target.maxTime ?? DEFAULT_MAX_TIME
    this.words = (target.words ?? []).map((word) => Buffer.from(word))
  }

  async run(): Promise<FuzzResult> {
    const start = performance.now()
    const elapsed = (): number => (performance.now() - start) / 1_000
    await this.divide(this.target.seeds.map((seed) => Buffer.from(seed)))
    if (this.corpus.length === 0) this.corpus.push(Buffer.from('a'))
    let growthTime = 0
    let heapBefore: number | null = null
    for (let size = 8; elapsed() < this.options.seconds && this.options.isDone?.() !== true; ) {
      const batch = Array.from({ length: size }, () => this.nextInput())
      const began = elapsed()
      const isNew = await this.runBatch(batch)
      if (isNew) await this.divide(batch)
      size = isNew || elapsed() - began > MAX_BATCH_SECONDS ? Math.max(8, size / 2) : Math.min(MAX_BATCH, size * 2)
      if (this.target.waits !== true && growthTime < elapsed() * GROWTH_SHARE) {
        const before = elapsed()
        await this.measureGrowth()
        growthTime += elapsed() - before
      }
      if (heapBefore === null && elapsed() > this.options.seconds / 4) heapBefore = heapSize()
      // Finalizers and sockets need turns of the event loop.
      await yieldToEventLoop()
    }
    const result = { inputs: this.inputs, seconds: elapsed(), kept: this.corpus.length, blocks: this.meter.blockCount }
    if (heapBefore !== null) this.checkMemory(heapSize() - heapBefore)
    this.meter.close()
    return result
  }

  private nextInput(): Buffer {
    // Recent inputs more often: they reached code that others have not.
    const recent = this.random() < 0.5 ? Math.max(0, this.corpus.length - 32) : 0
    return mutate(this.pickInput(recent), {
      random: this.random,
      words: this.words,
      other: this.pickInput(0),
      maxSize: this.random() < LARGE_SHARE ? this.maxSize : Math.min(this.maxSize, SMALL_INPUT),
    })
  }

  private pickInput(from: number): Buffer {
    const index = from + Math.floor(this.random() * (this.corpus.length - from))
    return this.corpus[index] ?? Buffer.from('a')
  }

  private async runBatch(batch: readonly Buffer[]): Promise<boolean> {
    for (const input of batch) await this.runInput(input)
    return this.meter.take()
  }

  /** Finds the inputs of a batch that reach new code: reading the coverage costs more than running an input again. */
  private async divide(batch: readonly Buffer[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2)
    let isFound = false
    for (const part of batch.length === 1 ? [batch] : [batch.slice(0, middle), batch.slice(middle)]) {
      if (part.length === 0 || !(await this.runBatch(part))) continue
      isFound = true
      if (part.length > 1) await this.divide(part)
      else {
        this.meter.keep()
        this.corpus.push(...part)
      }
    }
    // What does not show again, such as a cache that was filled, must not make the next batches look new.
    if (!isFound) this.meter.keepAll()
  }

  private async runInput(input: Buffer): Promise<void> {
    this.inputs += 1
    this.options.onInput(input)
    const start = performance.now()
    const fault = await findFault(this.target, input)
    const time = performance.now() - start
    if (fault !== null) await this.reportFault(input, fault)
    else if (time > this.maxTime) await this.reportSlow(input)
  }

  private async reportFault(input: Buffer, fault: unknown): Promise<void> {
    const key = faultKeyOf(fault)
    if (this.known.has(key)) return
    this.known.add(key)
    const smallest = await minimize(input, async (candidate) => {
      this.options.onInput(candidate)
      const found = await findFault(this.target, candidate)
      return found !== null && faultKeyOf(found) === key
    })
    const shown = await findFault(this.target, smallest)
    const detail = shown instanceof Error ? (shown.stack ?? shown.message) : String(shown ?? fault)
    this.options.onFinding({ kind: 'fault', key, detail, input: smallest })
  }

  private async reportSlow(input: Buffer): Promise<void> {
    let best = Number.POSITIVE_INFINITY
    for (let run = 0; run < 4; run += 1) {
      const start = threadTime()
      await findFault(this.target, input)
      best = Math.min(best, threadTime() - start)
    }
    if (best <= this.maxTime || this.known.has('slow')) return
    this.known.add('slow')
    this.options.onFinding({ kind: 'slow', key: 'slow', detail: `${best.toFixed(0)} ms`, input })
  }

  private async measureGrowth(): Promise<void> {
    const input = this.pickInput(0)
    if (input.length === 0 || this.known.has('growth')) return
    this.options.onInput(input)
    const found = await findGrowth(this.target, input, this.random)
    if (found === null) return
    this.known.add('growth')
    this.options.onFinding({ kind: 'growth', key: 'growth', ...found })
  }

  private checkMemory(grown: number): void {
    if (grown <= MAX_GROWN_HEAP) return
    const detail = `the heap grew by ${Math.round(grown / 1_048_576)} MB after a quarter of the time`
    this.options.onFinding({ kind: 'memory', key: 'memory', detail, input: Buffer.alloc(0) })
  }
}

function heapSize(): number {
  const { gc } = globalThis as { gc?: () => void }
  gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
