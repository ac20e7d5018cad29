import t from 'tap'
import { UnreachableHosts } from '../../../../src/outbound/delivery/shaping/unreachable-hosts.js'
import type { SmtpFailure } from '../../../../src/outbound/delivery/smtp/send-result.js'
import { hostAt } from '../../../helpers/smtp/sink-client.js'

const refusedConnection: SmtpFailure = {
  kind: 'failed',
  stage: 'connect',
  failure: 'refused',
  detail: 'connection refused',
}

t.test('waits grow to five minutes, and a success forgets them', async (t) => {
  const hosts = new UnreachableHosts()
  const host = hostAt({ port: 25 })
  const waits: number[] = []
  let now = 0
  for (let round = 0; round < 6; round++) {
    hosts.recordResult(host, refusedConnection, now)
    hosts.recordResult(host, refusedConnection, now)
    const begun = now
    while (hosts.findOutage(host, now) !== null) now += 1_000
    waits.push(now - begun)
  }
  t.same(waits, [30_000, 60_000, 120_000, 240_000, 300_000, 300_000])
  hosts.recordResult(host, null, now)
  hosts.recordResult(host, refusedConnection, now)
  t.equal(hosts.findOutage(host, now + 30_000), null)
})

t.test('a server that answers is not unreachable', async (t) => {
  const host = hostAt({ port: 25 })
  const table: readonly [SmtpFailure, boolean][] = [
    [refusedConnection, true],
    [{ ...refusedConnection, failure: 'timeout' }, true],
    [{ ...refusedConnection, failure: 'tls' }, false],
    [{ ...refusedConnection, stage: 'banner', failure: 'timeout' }, true],
    [{ ...refusedConnection, stage: 'banner', failure: 'closed' }, true],
    [{ ...refusedConnection, stage: 'banner', failure: 'reset' }, true],
    [{ ...refusedConnection, stage: 'banner', failure: 'protocol' }, false],
    [{ ...refusedConnection, stage: 'ehlo', failure: 'reset' }, false],
    [{ ...refusedConnection, stage: 'mail', failure: 'timeout' }, false],
    [{ kind: 'refused', stage: 'banner', reply: { code: 554, enhanced: null, text: '' } }, false],
  ]
  for (const [failure, unreachable] of table) {
    const hosts = new UnreachableHosts()
    hosts.recordResult(host, failure, 0)
    t.equal(hosts.findOutage(host, 1) !== null, unreachable, JSON.stringify(failure))
  }
})

t.test('a destination is unreachable when all its hosts are', async (t) => {
  const hosts = new UnreachableHosts()
  const [one, two] = [hostAt({ port: 1 }, { mx: 'one.test' }), hostAt({ port: 2 }, { mx: 'two.test' })]
  hosts.recordResult(one, refusedConnection, 0)
  t.same(hosts.checkReachability([], 0), { kind: 'open' })
  t.same(hosts.checkReachability([one, two], 1_000), { kind: 'open' }, 'the other is called')
  hosts.recordResult(two, refusedConnection, 1_000)
  const why = 'one.test [127.0.0.1]:1 (connection refused)'
  t.same(
    hosts.checkReachability([two, one], 2_000),
    { kind: 'outage', until: 30_000, why },
    'until the first of them is called',
  )
  t.same(hosts.checkReachability([one, two], 30_000), { kind: 'probe' })
  hosts.recordResult(one, refusedConnection, 30_500)
  t.match(hosts.checkReachability([one, two], 30_600), { kind: 'outage', until: 31_000 })
  hosts.recordResult(one, null, 30_700)
  t.same(hosts.checkReachability([one, two], 30_700), { kind: 'open' })
  t.match(hosts.checkReachability([two], 30_700), { kind: 'outage' })
  hosts.expireAll(30_700)
  t.same(hosts.checkReachability([two], 30_700), { kind: 'probe' }, 'the operator has changed something')
  t.same(hosts.checkReachability([two], 30_700 + 599_999), { kind: 'probe' })
  t.same(hosts.checkReachability([two], 30_700 + 600_000), { kind: 'open' }, 'forgotten in the end')
  hosts.recordResult(two, refusedConnection, 700_000)
  t.match(hosts.checkReachability([two], 700_000), { until: 730_000 }, 'and begins anew')
  t.same(hosts.checkReachability([two], 400_000), { kind: 'open' }, 'a clock that was set back prolongs nothing')
})

t.test('one of our addresses that is cut off says nothing about another one', async (t) => {
  const hosts = new UnreachableHosts()
  const from1 = hostAt({ port: 25 }, { mx: 'mx.test', source: '192.0.2.1' })
  const from2 = { ...from1, source: '192.0.2.2' }
  for (const host of [from1, from2]) hosts.recordResult(host, refusedConnection, 0)
  hosts.recordResult(from2, null, 1)
  t.equal(hosts.findOutage(from2, 2), null)
  t.match(hosts.findOutage(from1, 2), { until: 30_000, why: /:25 from 192\.0\.2\.1 \(/ })
})

t.test('memory is bounded', async (t) => {
  const hosts = new UnreachableHosts()
  for (let port = 0; port <= 10_000; port++) hosts.recordResult(hostAt({ port }), refusedConnection, 0)
  t.equal(hosts.findOutage(hostAt({ port: 0 }), 1), null)
  t.ok(hosts.findOutage(hostAt({ port: 1 }), 1))
})
