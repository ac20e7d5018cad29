/** What the system says of its clock, and how far it may be off the field Date of a web server. */

import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import { clockChecks, judgeOffset, readClockState } from '../../../../src/operations/doctor/checks/clock-checks.js'
import type { FindingState } from '../../../../src/operations/doctor/finding.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { zoneResolver } from '../../../helpers/dns/zone-resolver.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

t.test('offsets', async (t) => {
  const table: readonly (readonly [offset: number, FindingState])[] = [
    [2_999, 'ok'],
    [-3_000, 'warn'],
    [60_999, 'warn'],
    [-61_000, 'fail'],
  ]
  for (const [offset, state] of table) t.equal(judgeOffset('s', offset).state, state, `${offset}`)
  t.match(judgeOffset('s', -90_500).text, /90\.5 s behind/)
})

async function checkClock(state: boolean | null, timeUrl: string, authorities?: string) {
  const deps = {
    config: testConfig({ doctor: { time_url: timeUrl } }),
    resolver: zoneResolver({ 'time.test': { addresses: ['127.0.0.1'] } }),
    clock: () => Date.now(),
    readClockState: async () => state,
    authorities,
  }
  return clockChecks[0]?.run(deps as unknown as CheckDeps)
}

t.test('what the system says of its clock is enough', async (t) => {
  t.match(await checkClock(true, 'https://absent.test/'), [{ state: 'ok', text: /synchronized/ }])
  t.match(await checkClock(false, ''), [{ state: 'warn', text: /does not synchronize/ }])
  t.match(await checkClock(null, ''), [{ state: 'ok', text: /not checked/ }])
})

t.test('timedatectl is asked, which may be absent', async (t) => {
  t.ok([true, false, null].includes(await readClockState()))
  const folder = t.testdir({
    timedatectl: '#!/bin/sh\n[ "$*" = "show --property=NTPSynchronized --value" ] && echo $ANSWER\n',
  })
  chmodSync(join(folder, 'timedatectl'), 0o755)
  for (const [answer, state] of [
    ['yes', true],
    ['no', false],
    ['', null],
  ] as const) {
    t.intercept(process, 'env', { value: { ...process.env, PATH: `${folder}:${process.env['PATH']}`, ANSWER: answer } })
    t.equal(await readClockState(), state, answer)
  }
})

t.test('else the field Date of a web server is read', async (t) => {
  const { cert, key } = await createSelfSigned(['time.test'])
  let date = 'Thu, 01 Jan 2026 00:00:00 GMT'
  const server = createServer({ cert, key }, (_request, response) => {
    response.setHeader('date', date)
    response.end('hello')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `https://time.test:${(server.address() as { port: number }).port}/`
  t.match(await checkClock(null, url, cert), [{ state: 'fail', text: /ahead/ }])
  date = new Date().toUTCString()
  t.match(await checkClock(false, url, cert), [{ state: 'ok' }])
  t.match(await checkClock(null, url), [{ state: 'warn', undecided: true }])
})

t.test('the clock of a database server is compared', async (t) => {
  const judge = async (offset: number) => {
    const deps = {
      config: { ...testConfig({}), storage: { url: 'postgres://posthorn@127.0.0.1/mail' } },
      clock: () => 1_000_000 + offset,
      read: async () => [{ now: 1_000_000 }],
      readClockState: async () => true,
    }
    return (await clockChecks[0]?.run(deps as unknown as CheckDeps))?.[1]
  }
  t.match(await judge(-1_999), { state: 'ok', text: '2.0 s off' })
  t.match(await judge(2_000), { state: 'warn', text: /2\.0 s ahead of that of the database server/ })
  t.match(await judge(-600_000), { state: 'warn', text: /600\.0 s behind that of/ })
})
