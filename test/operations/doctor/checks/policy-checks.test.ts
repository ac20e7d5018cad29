/** MTA-STS policies: which of them let mail in here. */
import t from 'tap'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import { judgeOwn, judgePolicy, policyChecks } from '../../../../src/operations/doctor/checks/policy-checks.js'
import { type FindingState, good } from '../../../../src/operations/doctor/finding.js'
import { zoneResolver } from '../../../helpers/dns/zone-resolver.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

t.test('policies', async (t) => {
  const { service } = testConfig({})
  const policy = (mode: string, mx: string): string =>
    `version: STSv1\r\nmode: ${mode}\r\nmx: ${mx}\r\nmax_age: 86400\r\n`
  const table: readonly (readonly [status: number, body: string, FindingState])[] = [
    [200, policy('enforce', 'mx.mail.example.net'), 'ok'],
    [200, policy('enforce', '*.mail.example.net'), 'ok'],
    [200, policy('enforce', '*.example.net'), 'fail'],
    [200, policy('testing', 'other.test'), 'warn'],
    [200, policy('none', 'other.test'), 'ok'],
    [200, policy('always', 'mx.mail.example.net'), 'fail'],
    [200, 'mode: enforce', 'fail'],
    [200, '', 'fail'],
    [404, policy('enforce', 'mx.mail.example.net'), 'fail'],
  ]
  for (const [status, body, state] of table) t.equal(judgePolicy('u', status, body, service).state, state, body)
})

t.test('the policy that is served is the configured one, unless another server has it', async (t) => {
  const judged = good('u', 'mode testing')
  t.equal(judgeOwn(judged, 'version: STSv1\r\n', null), judged)
  t.equal(judgeOwn(judged, 'version: STSv1\r\n', 'version: STSv1\r\n'), judged)
  t.match(judgeOwn(judged, 'version: STSv1\r\n', 'version: STSv1\r\nmode: enforce\r\n'), { state: 'fail' })
})

t.test('without a record it is not used; with one the policy must be there', async (t) => {
  const run = (zone: Parameters<typeof zoneResolver>[0]) =>
    policyChecks[0]?.run({ config: testConfig({}), resolver: zoneResolver(zone) } as unknown as CheckDeps)
  t.match(await run({}), [{ state: 'ok', text: /needs no policy/ }])
  t.match(await run({ '_mta-sts.mail.example.net': 'failure' }), [{ undecided: true }])
  t.match(await run({ '_mta-sts.mail.example.net': { TXT: ['v=STSv1; id=1'] } }), [
    { state: 'fail', text: /no address/ },
  ])
})
