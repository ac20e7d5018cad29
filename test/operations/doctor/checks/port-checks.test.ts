/** What calls to port 25 mean, and the greeting of real servers. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { createDialer } from '../../../../src/base/platform/dialer.js'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import {
  judgeListener,
  judgeReached,
  portChecks,
  type Reached,
} from '../../../../src/operations/doctor/checks/port-checks.js'
import type { FindingState } from '../../../../src/operations/doctor/finding.js'
import { zoneResolver } from '../../../helpers/dns/zone-resolver.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

const greeting = (text: string): Reached['outcome'] => ({ kind: 'greeting', text })
const refused: Reached['outcome'] = { kind: 'no-connection', reason: 'connection refused' }

t.test('one host that answers shows that the port is open', async (t) => {
  const reached = (domain: string, outcome: Reached['outcome']): Reached => ({ domain, host: `mx.${domain}`, outcome })
  const table: readonly (readonly [readonly Reached['outcome'][], readonly FindingState[]])[] = [
    [
      [greeting('220 mx ESMTP'), greeting('220 mx')],
      ['ok', 'ok'],
    ],
    [
      [refused, refused],
      ['fail', 'fail'],
    ],
    [
      [refused, greeting('220 mx')],
      ['warn', 'ok'],
    ],
    [[greeting('554 5.7.1 blocked')], ['warn']],
    [[greeting('')], ['warn']],
    [[{ kind: 'no-host', reason: 'the name does not exist' }], ['warn']],
  ]
  for (const [outcomes, states] of table) {
    const found = judgeReached(
      outcomes.map((outcome, at) => reached(`d${at}.test`, outcome)),
      25,
    )
    t.same(
      found.map(({ state }) => state),
      states,
    )
  }
})

t.test('a listener of ours', async (t) => {
  const config = testConfig({})
  const addresses = ['93.184.216.34']
  const good = judgeListener('127.0.0.1:25', greeting('220 mail'), addresses, config)
  t.match(good, { state: 'ok', remedy: [/^nc -v -w 5 mx\.mail\.example\.net 25 /, /^nc -v -w 5 93\.184\.216\.34 25 /] })
  t.match(judgeListener('127.0.0.1:2525', greeting('220 mail'), addresses, config), { state: 'warn', text: /port 25/ })
  t.match(judgeListener('127.0.0.1:25', greeting('421 busy'), addresses, config), { state: 'fail' })
  t.match(judgeListener('127.0.0.1:25', refused, addresses, config), { state: 'fail', text: /refused/ })
})

t.test('hosts of the MX records are called, the best one of each domain', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.write('220 mx.a.test ESMTP \u0007\r\n250 more\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const resolver = zoneResolver({
    'a.test': {
      mx: [
        [20, 'worse.a.test'],
        [10, 'mx.a.test'],
      ],
    },
    'mx.a.test': { addresses: ['127.0.0.1'] },
    'b.test': { mx: [[10, 'mx.b.test']] },
  })
  const config = testConfig({ outbound: { port }, doctor: { mx_domains: ['a.test', 'b.test', 'c.test'] } })
  const signal = new AbortController().signal
  const deps = { config, resolver, dialer: createDialer(), signal, ownAddresses: [] } as unknown as CheckDeps
  const found = await portChecks[0]?.run(deps)
  t.match(found, [
    { subject: 'a.test', state: 'ok', text: 'mx.a.test: 220 mx.a.test ESMTP ?' },
    { subject: 'b.test', state: 'warn', undecided: true, text: /mx\.b\.test/ },
    { subject: 'c.test', state: 'warn', undecided: true },
  ])
  const relayed = testConfig({ outbound: { routes: { '*': 'smart.test:25' } } })
  t.match(await portChecks[0]?.run({ ...deps, config: relayed }), [{ state: 'ok', text: /routes/ }])
})

t.test('without a listener for others, bounces do not come back', async (t) => {
  const deps = { config: testConfig({}), ownAddresses: [] } as unknown as CheckDeps
  t.match(await portChecks[1]?.run(deps), [{ subject: 'inbound.listen', state: 'warn' }])
})
