/**
 * Which code of ours and of its packages an input reaches, by the block coverage of V8.
 *
 * Coverage is taken for a batch of inputs, since taking it costs more than most inputs do; only if the batch reaches
 * something new are its inputs run again one by one.
 */
import { Session } from 'node:inspector'

interface CoverageRange {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface ScriptCoverage {
  readonly scriptId: string
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly CoverageRange[] }[]
}

const measured = /\/dist\/(?:src|test\/fixtures)\/|\/node_modules\/(?!tap|@tapjs)/

export class CoverageMeter {
  private readonly session = new Session()
  /** For each character of a script whether it was reached. */
  private readonly reached = new Map<string, Uint8Array>()
  private blocks = 0
  private taken: readonly ScriptCoverage[] = []
  /** The last that was new. */
  private unkept: readonly ScriptCoverage[] = []

  constructor() {
    this.session.connect()
    this.post('Profiler.enable')
    this.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Runs of characters that were new when they were reached. */
  get blockCount(): number {
    return this.blocks
  }

  /** Whether what ran since the last call reaches new code. */
  take(): boolean {
    const { result } = this.post('Profiler.takePreciseCoverage') as { readonly result: readonly ScriptCoverage[] }
    this.taken = result.filter(({ url }) => url.startsWith('file:') && measured.test(url))
    const isNew = this.taken.some((script) => this.compare(script, false))
    if (isNew) this.unkept = this.taken
    return isNew
  }

  /** What was taken last is no longer new. */
  keep(): void {
    for (const script of this.taken) this.compare(script, true)
  }

  /** Nor is what was new when it was taken last. */
  keepAll(): void {
    for (const script of this.unkept) this.compare(script, true)
  }

  close(): void {
    this.session.disconnect()
  }

  private compare({ scriptId, functions }: ScriptCoverage, keep: boolean): boolean {
    const end = Math.max(...functions.map(({ ranges: [whole] }) => whole?.endOffset ?? 0))
    const now = new Uint8Array(end)
    for (const { ranges } of functions) {
      for (const { startOffset, endOffset, count } of ranges) now.fill(count > 0 ? 1 : 0, startOffset, endOffset)
    }
    const before = this.reachedBy(scriptId, end)
    let isInBlock = false
    let found = 0
    for (let at = 0; at < end; at += 1) {
      const isNew = now[at] === 1 && before[at] === 0
      if (isNew && !isInBlock) found += 1
      isInBlock = isNew
      if (isNew && !keep) return true
      if (isNew) before[at] = 1
    }
    this.blocks += found
    return found > 0
  }

  private reachedBy(scriptId: string, size: number): Uint8Array {
    const known = this.reached.get(scriptId)
    if (known !== undefined && known.length >= size) return known
    const grown = new Uint8Array(size)
    if (known !== undefined) grown.set(known)
    this.reached.set(scriptId, grown)
    return grown
  }

  private post(method: string, parameters: object = {}): unknown {
    let answer: unknown
    this.session.post(method, parameters, (error: Error | null, result?: object) => {
      if (error !== null) throw error
      answer = result
    })
    return answer
  }
}
