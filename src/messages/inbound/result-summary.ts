/**
 * One word for each check, as the interface shows them: `spf_result` is folded to pass, fail
 * and neutral; of several signatures the best speaks.
 */
import type { Authentication, DkimResult, DmarcResult } from '../../mail/authentication-results.js'

export interface ResultSummary {
  readonly spf_result: 'pass' | 'fail' | 'neutral'
  readonly dkim_result: DkimResult | 'none'
  readonly dmarc_result: DmarcResult
}

const dkimRanking: readonly DkimResult[] = ['pass', 'fail', 'temperror', 'policy', 'permerror']

export function summarizeResults({ spf, dkim, dmarc }: Pick<Authentication, 'spf' | 'dkim' | 'dmarc'>): ResultSummary {
  return {
    spf_result: spf.result === 'pass' || spf.result === 'fail' ? spf.result : 'neutral',
    dkim_result: dkimRanking.find((word) => dkim.some(({ result }) => result === word)) ?? 'none',
    dmarc_result: dmarc.result,
  }
}
