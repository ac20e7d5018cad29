/**
 * One word for each check, as the interface shows them: `spf_result` is folded to pass, fail
 * and neutral; of several signatures the best speaks.
 */
import type { Authentication, DkimResult, DmarcResult } from './authentication-results.js'

export interface FoldedResults {
  readonly spf_result: 'pass' | 'fail' | 'neutral'
  readonly dkim_result: DkimResult | 'none'
  readonly dmarc_result: DmarcResult
}

const best: readonly DkimResult[] = ['pass', 'fail', 'temperror', 'policy', 'permerror']

export function foldedResults({ spf, dkim, dmarc }: Authentication): FoldedResults {
  return {
    spf_result: spf.result === 'pass' || spf.result === 'fail' ? spf.result : 'neutral',
    dkim_result: best.find((word) => dkim.some(({ result }) => result === word)) ?? 'none',
    dmarc_result: dmarc.result,
  }
}
