/** Checks that a resolver on this machine validates DNSSEC, because DANE needs it. */
import type { JudgedLookup } from '../../../base/platform/dns/resolver.js'
import type { Check, CheckDeps } from '../check.js'
import { good, type Judgement, undecided, warning } from '../finding.js'

export const dnssecChecks: readonly Check[] = [
  { name: 'dnssec', summary: 'a resolver on this machine validates DNSSEC, for DANE', run: checkDnssec },
]

/** The zone of the root is signed. */
const ROOT = '.'

async function checkDnssec({ config, resolver }: CheckDeps): Promise<readonly Judgement[]> {
  if (config.outbound.dane === 'off' || resolver.judgeRecords === undefined) return []
  return [judgeDnssec(await resolver.judgeRecords(ROOT, 'NS'))]
}

export function judgeDnssec({ lookup, isAuthentic }: JudgedLookup<string>): Judgement {
  const subject = 'DANE'
  if (lookup.kind === 'failure') {
    return undecided(subject, `no answer for the root zone (${lookup.detail})`, [
      'dig . NS +dnssec',
      'posthorn doctor dns',
    ])
  }
  if (isAuthentic) return good(subject, 'the resolver validates: TLSA records of recipients are followed')
  return warning(subject, 'off, because no resolver on this machine validates DNSSEC', [
    'apt-get install unbound',
    '[dns]',
    'servers = ["127.0.0.1"]',
    '# or, if that is not wanted:',
    '[outbound]',
    'dane = "off"',
  ])
}
