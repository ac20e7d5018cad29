/** All checks run at once; one that is late or throws costs no other its result. */
import t from 'tap'
import type { Check, CheckDeps } from '../../../src/operations/doctor/check.js'
import { allChecks } from '../../../src/operations/doctor/checks/all-checks.js'
import { openCheckDeps } from '../../../src/operations/doctor/checks/open-deps.js'
import { type Finding, good, type Judgement, warning } from '../../../src/operations/doctor/finding.js'
import { groupProblems } from '../../../src/operations/doctor/group-findings.js'
import { runChecks } from '../../../src/operations/doctor/run-checks.js'
import { dnsServer } from '../../helpers/dns/dns-server.js'
import { testConfig } from '../../helpers/doctor/test-config.js'

const check = (name: string, run: Check['run']): Check => ({ name, summary: '', run })
const depsOf = (signal: AbortSignal): CheckDeps => ({ signal }) as CheckDeps
const never = (): Promise<readonly Judgement[]> => new Promise(() => undefined)

t.test('in the order of the checks, with what was late or failed', async (t) => {
  const aborted: boolean[] = []
  const checks = [
    check('late', ({ signal }) => {
      signal.addEventListener('abort', () => aborted.push(true))
      return never()
    }),
    check('broken', () => Promise.reject(new Error('no such thing'))),
    check('right', async () => [good('x', 'fine')]),
  ]
  t.match(await runChecks(checks, depsOf, { maxTime: 50 }), [
    {
      check: 'late',
      state: 'warn',
      undecided: true,
      text: /no result within 0\.05 s/,
      remedy: [/^posthorn doctor late/],
    },
    { check: 'broken', state: 'warn', undecided: true, text: /no such thing/, remedy: [/^posthorn doctor broken/] },
    { check: 'right', state: 'ok', subject: 'x' },
  ])
  t.same(aborted, [true])
})

t.test('a stop ends the run', async (t) => {
  const stopped = new AbortController()
  const run = runChecks([check('late', never)], depsOf, { stopped: stopped.signal })
  stopped.abort()
  t.match(await run, [{ undecided: true }])
})

t.test('a check shows its worst 250 findings', async (t) => {
  const many = Array.from({ length: 300 }, (_, at) =>
    at < 299 ? good(`s${at}`, '') : warning('last', '', ['mend it']),
  )
  const found = await runChecks([check('many', async () => many)], depsOf)
  t.equal(found.length, 251)
  t.match(
    [found[0], found[250]],
    [
      { subject: 'last' },
      { subject: 'others', state: 'warn', text: /^50 more/, remedy: [/./, /^posthorn doctor many/] },
    ],
  )
})

t.test('names of checks are unique', async (t) => {
  const names = allChecks.map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
  t.ok(allChecks.every(({ summary }) => summary.length > 10))
})

t.test('with a DNS server that never answers, every check ends by itself', async (t) => {
  const silent = await dnsServer(() => 'silence')
  t.teardown(silent.close)
  const config = testConfig({
    service: { public_addresses: ['93.184.216.34'] },
    dns: { servers: [silent.address], nameservers: ['ns.mail.example.net'] },
  })
  const clock = (): number => Date.now()
  const found = await runChecks(allChecks, (signal) => openCheckDeps({ config, clock, read: null }, signal))
  t.same(listWithoutRemedy(found), [])
  t.match(
    found.filter((one) => one.check === 'dns'),
    [{ state: 'fail', text: /TIMEOUT/ }],
  )
  t.same(
    found.filter(({ text }) => /had no result/.test(text)),
    [],
  )
  const cause = groupProblems(found).find(({ finding }) => finding.check === 'dns')
  const alone = found.filter((one) => one.undecided === true && cause?.followers.includes(one) !== true)
  t.same(alone, [], 'all of it has one cause')
  for (const name of ['ptr', 'helo', 'port25-out', 'blocklist', 'delegation', 'zone', 'mta-sts', 'clock']) {
    t.ok(
      found.some((one) => one.check === name && one.undecided === true),
      name,
    )
  }
})

/** Findings that leave a person alone: not ok, and nothing to do, or a gap where a command should be. */
const listWithoutRemedy = (found: readonly Finding[]): readonly Finding[] =>
  found.filter(({ state, remedy }) => state !== 'ok' && !remedy.some((line) => line.trim() !== ''))

t.test('every finding that is not all right has a remedy', async (t) => {
  for (const answer of ['NXDOMAIN', 'SERVFAIL', 'REFUSED', []] as const) {
    const server = await dnsServer(() => answer)
    t.teardown(server.close)
    const config = testConfig({
      service: { public_addresses: ['93.184.216.34', '2001:db8::1'] },
      dns: { servers: [server.address], nameservers: ['ns.mail.example.net', 'ns.other.example'] },
      doctor: { block_lists: ['list.example'], backup_folder: '/nowhere/backups' },
    })
    const clock = (): number => Date.now()
    const found = await runChecks(allChecks, (signal) => openCheckDeps({ config, clock, read: null }, signal))
    t.ok(found.filter(({ state }) => state !== 'ok').length > 5, `${answer}: there are findings`)
    t.same(listWithoutRemedy(found), [], `${answer}`)
  }
})
