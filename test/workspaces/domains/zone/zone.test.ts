/** The service zone: its records, the answer at a name, its serial, and its form as a file. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Config } from '../../../../src/base/config/complete.js'
import { parseConfig } from '../../../../src/base/config/load.js'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { operatorActor } from '../../../../src/workspaces/accounts/access/audit-log.js'
import { deleteSendingDomain } from '../../../../src/workspaces/domains/delete-domain.js'
import { dkimKeysOf } from '../../../../src/workspaces/domains/dkim/signing-keys.js'
import { installImportedKey } from '../../../../src/workspaces/domains/new-domain.js'
import { domainByName } from '../../../../src/workspaces/domains/rows/sending-domains.js'
import { keyTargetOf } from '../../../../src/workspaces/domains/verification/dns-records.js'
import { createServiceZone } from '../../../../src/workspaces/domains/zone/zone.js'
import { syncZoneSerial } from '../../../../src/workspaces/domains/zone/zone-change.js'
import { formatZoneLine, splitTxtStrings, toPlainRecord } from '../../../../src/workspaces/domains/zone/zone-file.js'
import {
  buildFixedRecords,
  toZoneSettings,
  type ZoneSettings,
} from '../../../../src/workspaces/domains/zone/zone-records.js'
import { collect } from '../../../helpers/collect.js'
import { runCommand } from '../../../helpers/daemon/test-daemon.js'
import { temporaryDatabase, temporaryFolder } from '../../../helpers/database/database.js'
import { seedDatabase } from '../../../helpers/database/seed-data.js'
import { fileOfSqlite, plansOfSqlite, skipOnPostgres } from '../../../helpers/database/test-engine.js'
import { runProgram } from '../../../helpers/programs/run-program.js'
import { skipWithout } from '../../../helpers/programs/skip-without.js'
import { waitUntil } from '../../../helpers/wait-until.js'

function configOf(toml: string): Config {
  const machine = { hostname: 'mail.service.test', home: '/', isRoot: true, stateHome: undefined }
  const loaded = parseConfig(toml, null, machine)
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}

function settingsOf(toml: string): ZoneSettings {
  return toZoneSettings(configOf(toml))
}

function lines(settings: ZoneSettings): readonly string[] {
  return buildFixedRecords(settings, [{ selector: 'service', public_record: 'v=DKIM1; p=' }]).map(formatZoneLine)
}

const usual = settingsOf(`
[service]
public_addresses = ["192.0.2.1", "2001:db8::1"]
[dns]
nameservers = ["ns1.mail.service.test", "ns.elsewhere.test"]
caa = ["ca.test"]
ttl = "2m"
`)

t.test('the zone has the records that customers and other servers look up, each once', async (t) => {
  const spf = 'TXT "v=spf1 ip4:192.0.2.1 ip6:2001:db8::1 -all"'
  const policy = 'TXT "v=DMARC1; p=reject; rua=mailto:dmarc@mail.service.test"'
  const host = (name: string): string[] => [`${name}. 120 IN A 192.0.2.1`, `${name}. 120 IN AAAA 2001:db8::1`]
  const mail = (name: string): string[] => [`${name}. 120 IN MX 10 mx.mail.service.test.`, `${name}. 120 IN ${spf}`]
  t.same(lines(usual), [
    'mail.service.test. 120 IN NS ns1.mail.service.test.',
    'mail.service.test. 120 IN NS ns.elsewhere.test.',
    'mail.service.test. 120 IN CAA 0 issue "ca.test"',
    ...host('mail.service.test'),
    ...mail('mail.service.test'),
    '*._report._dmarc.mail.service.test. 120 IN TXT "v=DMARC1"',
    `_dmarc.mail.service.test. 120 IN ${policy}`,
    '_smtp._tls.mail.service.test. 120 IN TXT "v=TLSRPTv1; rua=mailto:tlsrpt@mail.service.test"',
    ...host('mx.mail.service.test'),
    ...host('ns1.mail.service.test'),
    'service._domainkey.mail.service.test. 120 IN TXT "v=DKIM1; p="',
  ])
})

const names = (settings: ZoneSettings): readonly string[] => [
  ...new Set(buildFixedRecords(settings, [{ selector: 'service', public_record: '' }]).map(({ name }) => name)),
]

t.test('names outside the zone are not answered', async (t) => {
  const settings = settingsOf(`
[service]
hostname = "host.test"
zone = "z.service.test"
inbound_mx_host = "mx.service.test"
mail_from = "post@host.test"
public_url = "https://z.service.test.evil.test"
public_addresses = ["192.0.2.1"]
[dns]
nameservers = ["ns.az.service.test"]
`)
  t.same(names(settings), [
    'z.service.test',
    '*._report._dmarc.z.service.test',
    '_dmarc.z.service.test',
    '_smtp._tls.z.service.test',
    'mail.z.service.test',
  ])
})

t.test('every name of the service that lies in the zone is in it', async (t) => {
  const settings = settingsOf(`
[service]
hostname = "out.z.test"
zone = "z.test"
mail_from = "post@Office.z.test"
public_url = "https://api.z.test:8443/x"
public_addresses = ["192.0.2.1"]
`)
  t.same(names(settings), [
    'z.test',
    '*._report._dmarc.z.test',
    '_dmarc.office.z.test',
    '_dmarc.z.test',
    '_smtp._tls.office.z.test',
    '_smtp._tls.z.test',
    'api.z.test',
    'mail.z.test',
    'mx.z.test',
    'office.z.test',
    'out.z.test',
    'service._domainkey.office.z.test',
  ])
})

t.test('an MTA-STS policy has its records, with an id that changes with it', async (t) => {
  const settings = (toml: string): ZoneSettings =>
    settingsOf(`[service]\nzone = "z.test"\npublic_addresses = ["192.0.2.1"]\n[inbound]\n${toml}`)
  const idOf = (toml: string): string | undefined =>
    lines(settings(toml)).find((line) => line.startsWith('_mta-sts.z.test. '))
  t.ok(names(settings('mta_sts = "testing"')).includes('mta-sts.z.test'))
  t.match(idOf('mta_sts = "testing"'), /^_mta-sts\.z\.test\. 3600 IN TXT "v=STSv1; id=[0-9a-f]{32};"$/)
  t.not(idOf('mta_sts = "testing"'), idOf('mta_sts = "enforce"'))
  t.not(idOf('mta_sts = "testing"'), idOf('mta_sts = "testing"\nmta_sts_max_age = "30d"'))
  t.notOk(names(settings('')).includes('mta-sts.z.test'))
  t.equal(idOf(''), undefined)
})

t.test('SPF allows the public addresses from which mail leaves', async (t) => {
  const spfOf = (toml: string): unknown =>
    buildFixedRecords(settingsOf(toml), []).find(({ data }) => data.type === 'TXT' && data.text.startsWith('v=spf1'))
      ?.data
  const sources = '[outbound]\nsource_addresses = ["198.51.99.7", "10.0.0.7", "fe80::7", "2a00::7"]'
  t.match(spfOf(`[service]\npublic_addresses = ["192.0.2.1"]\n${sources}`), {
    text: 'v=spf1 ip4:192.0.2.1 ip4:198.51.99.7 ip6:2a00::7 -all',
  })
  t.match(spfOf(sources), { text: 'v=spf1 ip4:198.51.99.7 ip6:2a00::7 -all' })
  t.equal(spfOf(''), undefined, 'no record rather than one that forbids all')
})

t.test('the EHLO name of a source address inside the zone leads to that address', async (t) => {
  const source = (address: string, hello: string): string =>
    `[[outbound.sources]]\naddress = "${address}"\nhello = "${hello}"\n`
  const toml = `[service]\nhostname = "z.test"\n${source('198.51.99.7', 'out1.z.test')}${source('10.0.0.7', 'out2.z.test')}`
  const records = buildFixedRecords(settingsOf(toml), []).filter(({ name }) => name.startsWith('out'))
  t.same(
    records.filter(({ name }) => name === 'out1.z.test').map(({ data }) => data),
    [
      { type: 'A', address: '198.51.99.7' },
      { type: 'MX', preference: 10, host: 'mx.z.test' },
      { type: 'TXT', text: 'v=spf1 ip4:198.51.99.7 -all' },
    ],
  )
  t.same(
    records.filter(({ name }) => name === 'out2.z.test'),
    [],
    'a private address is not published',
  )
})

t.test('a text is split into strings of 255 octets, and its quotes are escaped', async (t) => {
  t.same(
    splitTxtStrings('x'.repeat(511)).map(({ length }) => length),
    [255, 255, 1],
  )
  t.equal(
    formatZoneLine({ name: 'a.test', ttl: 1, data: { type: 'TXT', text: 'a "b" \\' } }),
    'a.test. 1 IN TXT "a \\"b\\" \\\\"',
  )
})

async function withDomains(): Promise<{ database: Database; own: string; other: string }> {
  const { database } = await temporaryDatabase(t)
  const { workspaceId, otherWorkspaceId } = await seedDatabase(database)
  return { database, own: workspaceId, other: otherWorkspaceId }
}

/** One for all tests: the last one removes from it. */
const shared = withDomains()

async function rowOf({ read }: Database, workspaceId: string, domain: string) {
  const [row] = await domainByName(read, { workspaceId, domain: parseDomainName(domain) })
  if (row === undefined) throw new Error(`no ${domain}`)
  return row
}

t.test('keys of all registrations are at the names that their CNAMEs point to', async (t) => {
  const { database, own, other } = await shared
  const zone = createServiceZone(database, () => usual)
  for (const [workspaceId, domain] of [
    [own, 'a.test'],
    [other, 'other.test'],
  ] as const) {
    const row = await rowOf(database, workspaceId, domain)
    for (const { selector, public_record: text } of await dkimKeysOf(database.read, {
      workspaceId,
      domain: row.domain,
    })) {
      const name = keyTargetOf(row, selector, usual.zone)
      t.same(await zone.findRecords(name), [{ name, ttl: 120, data: { type: 'TXT', text } }], name)
    }
  }
})

t.test('any domain has the consent of the zone to get reports about it', async (t) => {
  const { database } = await shared
  const zone = createServiceZone(database, () => usual)
  const end = '_report._dmarc.mail.service.test'
  for (const name of [`a.test.${end}`, `deep.below.a.test.${end}`, `*.${end}`]) {
    t.same(await zone.findRecords(name), [{ name, ttl: 120, data: { type: 'TXT', text: 'v=DMARC1' } }], name)
  }
  t.same(await zone.findRecords(end), [], 'an empty non-terminal')
  t.equal(await zone.findRecords('x_report._dmarc.mail.service.test'), null)
})

t.test('an empty non-terminal exists, and a name without names below it does not', async (t) => {
  const { database, own } = await shared
  const zone = createServiceZone(database, () => usual)
  const row = await rowOf(database, own, 'a.test')
  const below = keyTargetOf(row, 'x', usual.zone).slice(2)
  t.same(await zone.findRecords('_domainkey.mail.service.test'), [])
  t.same(await zone.findRecords(below), [], 'the label of a registration')
  for (const name of [
    keyTargetOf(row, 'dkim3', usual.zone),
    `x.dkim1.${below}`,
    keyTargetOf({ id: row.id.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }, 'dkim1', usual.zone),
    `dkim1.%._domainkey.${usual.zone}`,
    `dkim1._domainkey.${usual.zone}`,
    `x.${usual.zone}`,
  ]) {
    t.equal(await zone.findRecords(name), null, name)
  }
})

t.test('an imported key is served under its selector, dots included', async (t) => {
  const { database, own } = await shared
  const zone = createServiceZone(database, () => usual)
  const row = await rowOf(database, own, 'a.test')
  const name = keyTargetOf(row, 'old.2019', usual.zone)
  t.equal(await zone.findRecords(name), null)
  const [key] = await dkimKeysOf(database.read, { workspaceId: own, domain: row.domain })
  const place = { workspaceId: own, domain: parseDomainName('a.test'), selector: 'Old.2019', now: 1 }
  await database.commit(installImportedKey(place, key?.private_key ?? ''))
  t.match(await zone.findRecords(name), [{ data: { type: 'TXT', text: key?.public_record } }])
  t.same(await zone.findRecords(name.slice('old.'.length)), [], 'between its dots')
})

t.test('the serial increases when the configuration changes the zone, and at a restart', async (t) => {
  const { database } = await shared
  const zone = createServiceZone(database, () => usual)
  const notice = async (settings: ZoneSettings, restarted: boolean): Promise<number> => {
    await syncZoneSerial(database, settings, { now: 1, restarted })
    return zone.readSerial()
  }
  const first = await notice(usual, false)
  t.equal(await notice(usual, false), first)
  const second = await notice({ ...usual, addresses: ['192.0.2.9'] }, false)
  t.ok(second > first)
  t.ok((await notice({ ...usual, addresses: ['192.0.2.9'] }, true)) > second, 'what was restored may be old')
})

t.test('what a reload changes is in the zone once the serial has risen', async (t) => {
  const { database } = await shared
  let settings = usual
  const zone = createServiceZone(database, () => settings)
  t.equal(await zone.findRecords('new.mail.service.test'), null)
  settings = { ...usual, sendingHosts: [{ name: 'new.mail.service.test', address: '192.0.2.77' }] }
  await syncZoneSerial(database, settings, { now: 1, restarted: false })
  const address = { type: 'A', address: '192.0.2.77' }
  t.match((await zone.findRecords('new.mail.service.test'))?.[0], { data: address })
  t.ok(
    (await collect(zone.readPages())).flat().some(({ name }) => name === 'new.mail.service.test'),
    'in a transfer too',
  )
})

t.test(
  'a query costs one index lookup, however many domains there are',
  { skip: skipOnPostgres(plansOfSqlite) },
  async (t) => {
    const { database } = await shared
    const asked: string[] = []
    const { zone } = usual
    const read: Database['read'] = async (sql, parameters) => {
      asked.push(sql)
      return database.read(sql, parameters)
    }
    await createServiceZone({ read }, () => usual).findRecords(`dkim1.00000000000000000000._domainkey.${zone}`)
    const sql = asked.find((text) => text.includes('substr')) ?? ''
    const plan = (await database.read<{ detail: string }>(`explain query plan ${sql}`, ['x'])).map(
      ({ detail }) => detail,
    )
    t.match(plan[0], /^SEARCH domains USING (COVERING )?INDEX domains_label/)
    t.match(plan[1], /^SEARCH dkim_keys USING INDEX dkim_keys_selector/)
  },
)

t.test('each record of the zone is also found by its name', async (t) => {
  const { database } = await shared
  const zone = createServiceZone(database, () => usual)
  const all = (await collect(zone.readPages())).flat()
  t.ok(all.length > 15)
  for (const record of all)
    t.ok((await zone.findRecords(record.name))?.some((found) => formatZoneLine(found) === formatZoneLine(record)))
})

t.test('the cache of queried names is bounded', async (t) => {
  const { database, own } = await shared
  let reads = 0
  const read: Database['read'] = async (sql, parameters) => {
    if (sql.includes('substr')) reads += 1
    return database.read(sql, parameters)
  }
  const zone = createServiceZone({ read }, () => usual)
  const name = keyTargetOf(await rowOf(database, own, 'a.test'), 'dkim1', usual.zone)
  for (let count = 0; count < 3; count += 1) t.ok(await zone.findRecords(name))
  t.equal(reads, 1)
})

t.test('what was read before a change is not served after it', async (t) => {
  const { database, own } = await withDomains()
  const gates: (() => void)[] = []
  let isHeld = false
  const read: Database['read'] = async (sql, parameters) => {
    const rows = await database.read<never>(sql, parameters)
    if (isHeld && !sql.includes('zone_serial')) await new Promise<void>((resolve) => gates.push(resolve))
    return rows
  }
  const zone = createServiceZone({ read }, () => usual)
  const name = keyTargetOf(await rowOf(database, own, 'a.test'), 'dkim1', usual.zone)
  await zone.readSoa()
  isHeld = true
  const early = zone.findRecords(name)
  await waitUntil('the key is read', () => gates.length === 1)
  isHeld = false
  await database.commit([{ sql: `update dkim_keys set public_record = 'v=DKIM1; p='`, parameters: [] }])
  t.match(await zone.findRecords(name), [{ data: { text: 'v=DKIM1; p=' } }])
  for (const release of gates) release()
  t.notMatch(await early, [{ data: { text: 'v=DKIM1; p=' } }])
  t.match(await zone.findRecords(name), [{ data: { text: 'v=DKIM1; p=' } }])
})

t.test('queries at once after a change read the new zone once', async (t) => {
  const { database } = await shared
  let reads = 0
  const read: Database['read'] = async (sql, parameters) => {
    if (!sql.includes('zone_serial')) reads += 1
    return database.read(sql, parameters)
  }
  const zone = createServiceZone({ read }, () => usual)
  await Promise.all([1, 2, 3].map(() => zone.readSoa()))
  t.equal(reads, 1)
})

t.test("the serial increases with every change of the zone's records, and with nothing else", async (t) => {
  const { database, own } = await shared
  const zone = createServiceZone(database, () => usual)
  const row = await rowOf(database, own, 'a.test')
  const name = keyTargetOf(row, 'dkim1', usual.zone)
  t.ok(await zone.findRecords(name))
  const grows = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    const before = await zone.readSerial()
    await act()
    t.ok((await zone.readSerial()) > before, what)
    t.match(await zone.readSoa(), { data: { serial: await zone.readSerial() } })
  }
  const still = await zone.readSerial()
  await database.commit([{ sql: `update domains set status = 'failed'`, parameters: [] }])
  await database.commit([{ sql: 'update dkim_keys set signing = 0', parameters: [] }])
  t.equal(await zone.readSerial(), still, 'a state is not in the zone')
  await grows('a key', () => database.commit([{ sql: `update dkim_keys set public_record = 'new'`, parameters: [] }]))
  t.match(await zone.findRecords(name), [{ data: { text: 'new' } }], 'what was remembered is forgotten')
  await grows('a deletion', () => deleteSendingDomain(database, row, operatorActor, 1))
  t.equal(await zone.findRecords(name), null)
})

t.test('posthorn zone', { skip: skipOnPostgres(fileOfSqlite) }, async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'posthorn.toml')
  const configure = (more: string): void => {
    const service = `[service]\nhostname = "mail.service.test"\ndata_dir = ${JSON.stringify(join(folder, 'data'))}\n`
    writeFileSync(file, service + more)
  }
  const posthorn = (...words: string[]) => runCommand([...words, '--config', file])

  await t.test('without servers and addresses prints lines for the parent zone, and says so', async (t) => {
    configure('')
    const { status, out, err } = await posthorn('zone')
    t.equal(status, 0)
    t.notMatch(out, / (SOA|NS|A) /)
    t.match(out, /^mail\.service\.test\. 3600 IN MX 10 mx\.mail\.service\.test\.$/m)
    t.match(out, /^service\._domainkey\.mail\.service\.test\. 3600 IN TXT "v=DKIM1; k=rsa; p=/m)
    t.match(err, /^posthorn: service\.public_addresses is empty/m)
    t.match(err, /^posthorn: dns\.nameservers is empty/m)
  })

  await t.test('prints the same zone as lines and as values, in one order', async (t) => {
    configure('public_addresses = ["192.0.2.1"]\n[dns]\nnameservers = ["ns.elsewhere.test"]\n')
    await posthorn('workspace', 'create', 'Own', '--email', 'owner@a.test')
    await posthorn('domain', 'add', 'a.test')
    const { out, err } = await posthorn('zone')
    t.equal(err, '')
    const { records } = (await posthorn('zone', '--json')).json() as { records: Record<string, unknown>[] }
    t.equal((await posthorn('zone')).out, out, 'again')
    const shown = out.trimEnd().split('\n')
    t.same(
      records.map(({ name, ttl, type }) => `${name}. ${ttl} IN ${type}`),
      shown.map((line) => line.split(' ').slice(0, 4).join(' ')),
    )
    t.match(records[0], { name: 'mail.service.test', type: 'SOA', ttl: 3600, value: /^ns\.elsewhere\.test postmaster/ })
    t.match(records[3], { type: 'MX', value: '10 mx.mail.service.test' })
    const keys = records.filter(({ name }) => /^dkim[12]\.[0-9a-f]{20}\._domainkey\./.test(String(name)))
    t.equal(keys.length, 2, 'of a pending domain')
    for (const { value } of keys) t.match(value, /^v=DKIM1; k=rsa; p=[\w+/=]{392}$/)
    const { dns_records: dnsRecords } = (await posthorn('domain', 'show', 'a.test', '--json')).json() as {
      dns_records: { value: string }[]
    }
    for (const { value } of dnsRecords)
      t.ok(
        records.some(({ name }) => name === value),
        value,
      )
  })

  await t.test('is loaded by Knot as it is', { skip: skipWithout('knotd') }, async (t) => {
    const { out } = await posthorn('zone')
    const zoneFile = join(folder, 'zone')
    writeFileSync(zoneFile, out)
    const conf = join(folder, 'knot.conf')
    const storage = `database:\n    storage: ${folder}\n`
    const zone = `zone:\n  - domain: mail.service.test\n    file: ${zoneFile}\n`
    writeFileSync(conf, `server:\n    rundir: ${folder}\n${storage}${zone}`)
    const checked = await runProgram(['knotc', '-c', conf, 'zone-check', 'mail.service.test'])
    t.equal(checked.status, 0, checked.stdout + checked.stderr)
  })
})

t.test('a record as a value has the form of its type', async (t) => {
  const value = (data: Parameters<typeof toPlainRecord>[0]['data']): string =>
    toPlainRecord({ name: 'a.test', ttl: 1, data }).value
  t.equal(value({ type: 'CAA', issuer: 'ca.test' }), '0 issue "ca.test"')
  t.equal(value({ type: 'NS', host: 'ns.test' }), 'ns.test')
  t.equal(value({ type: 'TXT', text: 'x'.repeat(300) }), 'x'.repeat(300))
  t.equal(value({ type: 'AAAA', address: '2001:db8::1' }), '2001:db8::1')
})
