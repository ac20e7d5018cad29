/**
 * How the time of a regular expression grows with its input, as recheck finds out.
 *
 * Pure JavaScript in this thread, the same on every machine. Fuzzing takes up to seconds where an expression has long
 * counted repetitions, so slow results are stored in `fixtures/judged-expressions.json`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `unknown`: neither proved nor refuted in time. */
export type Growth = 'linear' | 'polynomial' | 'exponential' | 'unknown'

interface JudgedExpressions {
  /** The version of recheck: another one judges anew. */
  readonly version: string
  readonly growth: Readonly<{ [literal: string]: Growth }>
}

export const recordFile = join(import.meta.dirname, '../../../../test/fixtures/judged-expressions.json')

export function readRecord(): JudgedExpressions {
  return JSON.parse(readFileSync(recordFile, 'utf8')) as JudgedExpressions
}

const packageFile = join(import.meta.dirname, '../../../../node_modules/recheck/package.json')

export function recheckVersion(): string {
  return (JSON.parse(readFileSync(packageFile, 'utf8')) as { readonly version: string }).version
}

/** Milliseconds. */
const TIMEOUT = 10_000

export async function createGrowthJudge(): Promise<(literal: string) => Growth> {
  process.env['RECHECK_SYNC_BACKEND'] = 'pure'
  const { checkSync } = await import('recheck')
  return (literal) => {
    const end = literal.lastIndexOf('/')
    const found = checkSync(literal.slice(1, end), literal.slice(end + 1), { timeout: TIMEOUT })
    switch (found.status) {
      case 'safe':
        return 'linear'
      case 'vulnerable':
        return found.complexity.type === 'exponential' ? 'exponential' : 'polynomial'
      case 'unknown':
        return 'unknown'
    }
  }
}
