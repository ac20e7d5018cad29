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

const measured = /\/dist\/src\/|\/node_modules\/(?!tap|@tapjs)/

export class CoverageMeter {
  private readonly session = new Session()
  /** For each character of a script whether it was reached. */
  private readonly reached = new Map<string, Uint8Array>()
  private blocks = 0

  constructor() {
    this.session.connect()
    this.post('Profiler.enable')
    this.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Runs of characters that were new when they were reached. */
  get blockCount(): number {
    return this.blocks
  }

  /** What ran since the last call reaches new code; `keep`: it is no longer new. */
  take({ keep }: { readonly keep: boolean }): boolean {
    const { result } = this.post('Profiler.takePreciseCoverage') as { readonly result: readonly ScriptCoverage[] }
    let isNew = false
    for (const script of result) {
      if (script.url.startsWith('file:') && measured.test(script.url) && this.compare(script, keep)) isNew = true
    }
    return isNew
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
