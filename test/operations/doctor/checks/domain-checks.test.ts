/** Records of sending domains as the checks see them, from a database with domains and a literal zone. */
// Of SQLite alone: its file is opened by others too.
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import { domainChecks, judgeTrouble } from '../../../../src/operations/doctor/checks/domain-checks.js'
import type { Judgement } from '../../../../src/operations/doctor/finding.js'
import { dkimKeysOf } from '../../../../src/workspaces/domains/dkim/signing-keys.js'
import { domainByName, type SendingDomain } from '../../../../src/workspaces/domains/rows/sending-domains.js'
import { dnsRecordsOf } from '../../../../src/workspaces/domains/verification/dns-records.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { runSql } from '../../../helpers/database/run-sql.js'
import { seedDatabase } from '../../../helpers/database/seed-data.js'
import { type Zone, zoneResolver } from '../../../helpers/dns/zone-resolver.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

const zone = 'mail.example.net'
type ZoneName = Exclude<Zone[string], 'failure'>

interface World {
  readonly check: (name: string, change?: Zone) => Promise<readonly Judgement[] | undefined>
  readonly row: SendingDomain
}

/** a.test is verified and receives mail; its records are right. */
async function openWorld(t: Test): Promise<World> {
  const { database, file } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  runSql(file, "update domains set forced = 0, inbound = 1 where domain = 'a.test'")
  const domain = parseDomainName('a.test')
  const [row] = await domainByName(database.read, { workspaceId, domain })
  if (row === undefined) throw new Error('no domain')
  const keys = await dkimKeysOf(database.read, { workspaceId, domain })
  const right = new Map<string, ZoneName>([
    ['a.test', { mx: [[10, 'mx.mail.example.net']] }],
    ['_dmarc.a.test', { TXT: ['v=DMARC1; p=none'] }],
  ])
  for (const { name, value, purpose } of dnsRecordsOf(row, zone)) {
    const text = keys.find(({ selector }) => selector === purpose)?.public_record
    right.set(name, { CNAME: [value], ...(text === undefined ? {} : { TXT: [text] }) })
  }
  const check: World['check'] = async (name, change = {}) => {
    const resolver = zoneResolver({ ...Object.fromEntries(right), ...change })
    const deps = { config: testConfig({}), read: database.read, resolver } as unknown as CheckDeps
    return domainChecks.find((one) => one.name === name)?.run(deps)
  }
  return { check, row }
}

t.test('a domain whose records are right; one without DNS is not looked up', async (t) => {
  const { check } = await openWorld(t)
  t.match(await check('spf'), [{ subject: 'a.test', state: 'ok' }])
  t.match(await check('dkim'), [
    { subject: 'dkim1 a.test', state: 'ok' },
    { subject: 'dkim2 a.test', state: 'ok' },
  ])
  t.match(await check('dmarc'), [{ subject: 'a.test', state: 'ok', text: 'v=DMARC1; p=none' }])
  t.match(await check('mx'), [{ subject: 'a.test', state: 'ok' }])
  t.match(await check('domains'), [{ state: 'ok', text: 'none of 2 domains has a problem' }])
})

t.test('records that are wrong, with the record to publish', async (t) => {
  const { check } = await openWorld(t)
  t.match(await check('spf', { 'posthorn.a.test': { CNAME: ['elsewhere.test'] } }), [
    { state: 'fail', remedy: ['posthorn.a.test. CNAME mail.example.net.'], text: /found elsewhere\.test/ },
  ])
  t.match(await check('spf', { 'posthorn.a.test': 'failure' }), [{ state: 'warn', undecided: true }])
  const dkim = await check('dkim', { 'dkim1._domainkey.a.test': {} })
  t.match(dkim, [{ state: 'fail', remedy: [/^dkim1\._domainkey\.a\.test\. CNAME dkim1\./] }, { state: 'ok' }])
  t.match(await check('dmarc', { '_dmarc.a.test': {} }), [
    { state: 'warn', remedy: ['_dmarc.a.test. TXT "v=DMARC1; p=none; rua=mailto:dmarc@mail.example.net"'] },
  ])
  t.match(await check('dmarc', { '_dmarc.a.test': 'failure' }), [{ undecided: true }])
  t.match(await check('mx', { 'a.test': { mx: [[10, 'mx.other.test']] } }), [
    { state: 'fail', remedy: ['a.test. MX 10 mx.mail.example.net.'] },
  ])
  t.match(await check('mx', { 'a.test': 'failure' }), [{ undecided: true }])
})

t.test('a CNAME that is right proves no key behind it', async (t) => {
  const { check, row } = await openWorld(t)
  const target = dnsRecordsOf(row, zone).find(({ purpose }) => purpose === 'dkim2')?.value ?? ''
  t.match(await check('dkim', { 'dkim2._domainkey.a.test': { CNAME: [target] } }), [
    { state: 'ok' },
    { subject: 'dkim2 a.test', state: 'fail', remedy: [`dig ${target} TXT`] },
  ])
  t.match(await check('dkim', { 'dkim2._domainkey.a.test': { CNAME: [target], TXT: 'failure' } }), [
    { state: 'ok' },
    { subject: 'dkim2 a.test', state: 'warn', undecided: true },
  ])
})

t.test('domains in trouble', async (t) => {
  const { row } = await openWorld(t)
  t.same(judgeTrouble({ ...row, status: 'pending' }), [])
  t.match(judgeTrouble({ ...row, status: 'failed' }), [
    { state: 'warn', remedy: [/^posthorn domain show a\.test/, /./] },
  ])
  t.match(judgeTrouble({ ...row, unproved_since: Date.UTC(2026, 0, 1) }), [{ state: 'warn', text: /2026-01-04T00:00/ }])
})
