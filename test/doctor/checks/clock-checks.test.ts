/** How far the clock may be off, measured at time servers or at the field Date of a web server. */

import { once } from 'node:events'
import { createServer } from 'node:https'
import t, { type Test } from 'tap'
import type { CheckDeps } from '../../../src/doctor/check.js'
import { clockChecks, judgeOffset } from '../../../src/doctor/checks/clock-checks.js'
import type { FindingState } from '../../../src/doctor/finding.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { zoneResolver } from '../../helpers/dns/zone-resolver.js'
import { sntpServer } from '../../helpers/doctor/sntp-server.js'
import { testConfig } from '../../helpers/doctor/test-config.js'

t.test('offsets', async (t) => {
  const table: readonly (readonly [offset: number, precision: number, FindingState])[] = [
    [1_999, 0, 'ok'],
    [-2_000, 0, 'warn'],
    [2_999, 1_000, 'ok'],
    [-59_999, 0, 'warn'],
    [60_000, 0, 'fail'],
    [60_999, 1_000, 'warn'],
  ]
  for (const [offset, precision, state] of table) t.equal(judgeOffset('s', offset, precision).state, state, `${offset}`)
  t.match(judgeOffset('s', -90_500, 0).text, /90\.5 s behind/)
})

async function checkClock(t: Test, settings: Readonly<Record<string, unknown>>, authorities?: string) {
  const resolver = zoneResolver({ 'time.test': { addresses: ['127.0.0.1'] } })
  const deps = { config: testConfig({ doctor: settings }), resolver, clock: () => Date.now(), authorities }
  const found = await clockChecks[0]?.run(deps as unknown as CheckDeps)
  t.equal(found?.length, 1)
  return found?.[0]
}

t.test('the next time server is asked if one has no usable reply', async (t) => {
  const bad = await sntpServer(t, { stratum: 0 })
  const ahead = await sntpServer(t, { offset: 3_600_000 })
  const servers = [`absent.test:1`, `127.0.0.1:${bad}`, `time.test:${ahead}`]
  t.match(await checkClock(t, { ntp_servers: servers, time_url: '' }), {
    state: 'fail',
    subject: 'SNTP time.test',
    text: /3600\.\d s behind/,
  })
})

t.test('without a time server the field Date of a web server is read', async (t) => {
  const { cert, key } = await createSelfSigned(['time.test'])
  let date = 'Thu, 01 Jan 2026 00:00:00 GMT'
  const server = createServer({ cert, key }, (_request, response) => {
    response.setHeader('date', date)
    response.end('hello')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `https://time.test:${(server.address() as { port: number }).port}/`
  t.match(await checkClock(t, { ntp_servers: [], time_url: url }, cert), { state: 'fail', text: /ahead/ })
  date = new Date().toUTCString()
  t.match(await checkClock(t, { ntp_servers: [], time_url: url }, cert), { state: 'ok' })
  t.match(await checkClock(t, { ntp_servers: [], time_url: url }), { state: 'warn', undecided: true })
  t.match(await checkClock(t, { ntp_servers: [], time_url: '' }), { state: 'ok', text: /not checked/ })
})
