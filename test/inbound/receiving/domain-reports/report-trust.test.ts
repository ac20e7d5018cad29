import t from 'tap'
import type { Authentication } from '../../../../src/base/mail/authentication-results.js'
import { findReporter, listEnclosingNames } from '../../../../src/inbound/receiving/domain-reports/report-trust.js'

const dmarc = (result: 'pass' | 'fail', domain: string | null): Pick<Authentication, 'dmarc'> => ({
  dmarc: { result, domain, policyDomain: domain, policy: null, disposition: 'none', reason: null },
})
const dkim = (...domains: readonly (readonly ['pass' | 'fail', string])[]): Pick<Authentication, 'dkim'> => ({
  dkim: domains.map(([result, domain]) => ({ result, domain, selector: 's', reason: null })),
})
const spf = (result: 'pass' | 'softfail', domain: string): Pick<Authentication, 'spf'> => ({
  spf: { result, domain, identity: 'mailfrom', reason: null, explanation: null },
})

t.test('the reporter is the organizational domain that was proved', async (t) => {
  const cases: readonly (readonly [Partial<Authentication>, string | null])[] = [
    [{}, null],
    [{ ...dmarc('fail', 'google.com'), ...dkim(['fail', 'google.com']), ...spf('softfail', 'google.com') }, null],
    [{ ...dmarc('pass', 'mail.google.com'), ...dkim(['pass', 'esp.com']) }, 'google.com'],
    [{ ...dmarc('fail', 'google.com'), ...dkim(['fail', 'google.com'], ['pass', 'Forger.co.uk']) }, 'forger.co.uk'],
    [{ ...dmarc('fail', 'google.com'), ...dkim(), ...spf('pass', 'bounce.forger.com') }, 'forger.com'],
    [spf('pass', ''), null],
    [dmarc('pass', null), null],
    [dmarc('pass', 'com'), 'com'],
  ]
  for (const [results, reporter] of cases) t.equal(findReporter(results), reporter, JSON.stringify(results))
})

t.test('the names that enclose a domain, nearest first', async (t) => {
  t.same(listEnclosingNames('a.b.c.test'), ['a.b.c.test', 'b.c.test', 'c.test'])
  t.same(listEnclosingNames('test'), [])
  t.equal(listEnclosingNames(`${'x.'.repeat(100)}test`).length, 9)
})
