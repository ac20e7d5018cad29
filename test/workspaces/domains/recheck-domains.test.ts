/** Rounds over the domains that are due: each is checked once, and none delays another. */
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { StorageFault } from '../../../src/base/storage/db/write.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { openDomainResolver } from '../../../src/workspaces/domains/domain-resolver.js'
import { type RecheckDeps, recheckDomains } from '../../../src/workspaces/domains/recheck-domains.js'
import { domainByName, insertDomain, type SendingDomain } from '../../../src/workspaces/domains/rows/sending-domains.js'
import { dnsServers } from '../../helpers/config-values.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { dnsServer } from '../../helpers/dns/dns-server.js'
import { type Zone, zoneResolver } from '../../helpers/dns/zone-resolver.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const now = 100 * DAY
const going = new AbortController().signal

const rowOf = (domain: string, more: Partial<SendingDomain> = {}): SendingDomain => ({
  id: uuidv7(now),
  workspace_id: 'ws_1',
  domain: parseDomainName(domain),
  status: 'pending',
  forced: 0,
  inbound: 0,
  track_opens: 0,
  track_clicks: 0,
  created_at: now,
  verified_at: null,
  record_states: toJson({}),
  checked_at: null,
  next_check_at: now - 1,
  unproved_since: now,
  rotation_asked_at: null,
  inbound_policy: toJson({}),
  ...more,
})

interface Rounds {
  readonly database: Database
  readonly deps: RecheckDeps
  readonly notifications: readonly string[]
  readonly domain: (name: string, workspaceId?: string) => Promise<SendingDomain | undefined>
}

async function rounds(t: Test, rows: readonly SendingDomain[], zone: Zone): Promise<Rounds> {
  const { database } = await temporaryDatabase(t)
  await database.commit(rows.map(insertDomain))
  const notifications: string[] = []
  const tell =
    (level: string) =>
    (about: object): void => {
      notifications.push(`${level} ${String(Reflect.get(about, 'domain'))}`)
    }
  const deps: RecheckDeps = {
    ...database,
    resolver: zoneResolver(zone),
    names: { zone: 'zone.test', inbound_mx_host: 'mx.zone.test' },
    random: () => 0,
    retirementTime: () => 7 * DAY,
    settlingTime: DAY,
    clock: () => now,
    log: { error: tell('error'), warn: tell('warn'), info: tell('info') },
    onChanged: ({ workspaceId, domain }) => notifications.push(`changed ${workspaceId} ${domain}`),
  }
  const domain: Rounds['domain'] = async (name, workspaceId = 'ws_1') =>
    (await domainByName(database.read, { workspaceId, domain: parseDomainName(name) }))[0]
  return { database, deps, notifications, domain }
}

function provingZone({ id, domain }: SendingDomain): Zone {
  const label = id.replaceAll('-', '').slice(-20)
  return {
    [`posthorn.${domain}`]: { CNAME: ['mail.zone.test'] },
    [`dkim1._domainkey.${domain}`]: { CNAME: [`dkim1.${label}._domainkey.zone.test`] },
    [`dkim2._domainkey.${domain}`]: { CNAME: [`dkim2.${label}._domainkey.zone.test`] },
  }
}

t.test('all domains that are due are checked once, and no others', async (t) => {
  const due = Array.from({ length: 12 }, (_, n) => rowOf(`d${n}.test`))
  const others = [rowOf('later.test', { next_check_at: now + 1 }), rowOf('never.test', { next_check_at: null })]
  const { deps, domain } = await rounds(t, [...due, ...others], {})
  const resolver = zoneResolver({})
  await recheckDomains({ ...deps, resolver }, going)
  const looks = resolver.asked.filter((question) => question.startsWith('CNAME posthorn.'))
  t.same([...looks].sort(), due.map((row) => `CNAME posthorn.${row.domain}`).sort())
  for (const row of due)
    t.match(await domain(row.domain), { status: 'pending', next_check_at: now + HOUR, checked_at: now })
  await recheckDomains({ ...deps, resolver }, going)
  t.equal(resolver.asked.filter((question) => question.startsWith('CNAME posthorn.')).length, 12)
})

t.test('a verified domain is reported, with a warning where the zone has no key', async (t) => {
  const row = rowOf('a.test')
  const { deps, notifications, domain } = await rounds(t, [row], provingZone(row))
  await recheckDomains(deps, going)
  t.match(await domain('a.test'), {
    status: 'verified',
    verified_at: now,
    unproved_since: null,
    next_check_at: now + DAY,
  })
  t.same(notifications, ['info a.test', 'warn a.test', 'changed ws_1 a.test'])
})

t.test('a name that another workspace has verified is postponed without a query', async (t) => {
  const theirs = rowOf('a.test', {
    workspace_id: 'ws_2',
    status: 'verified',
    unproved_since: null,
    next_check_at: now + DAY,
  })
  const mine = rowOf('a.test')
  const { deps, notifications, domain } = await rounds(t, [theirs, mine], provingZone(mine))
  const resolver = zoneResolver(provingZone(mine))
  await recheckDomains({ ...deps, resolver }, going)
  t.same(resolver.asked, [])
  t.match(await domain('a.test'), { status: 'pending', next_check_at: now + DAY })
  t.same(notifications, [])
})

t.test('a concurrent verification by another workspace is no fault', async (t) => {
  const theirs = rowOf('a.test', { workspace_id: 'ws_2', next_check_at: null })
  const mine = rowOf('a.test')
  const { database, deps, notifications, domain } = await rounds(t, [theirs, mine], provingZone(mine))
  const resolver = {
    ...deps.resolver,
    resolveRecords: async (...question: Parameters<RecheckDeps['resolver']['resolveRecords']>) => {
      const verified = `update domains set status = 'verified' where workspace_id = 'ws_2'`
      await database.commit([{ sql: verified, parameters: [] }])
      return deps.resolver.resolveRecords(...question)
    },
  }
  await recheckDomains({ ...deps, resolver }, going)
  t.match(await domain('a.test'), { status: 'pending', next_check_at: now + HOUR })
  t.same(notifications, [])
})

t.test('a fault postpones its domain and delays no other', async (t) => {
  const good = rowOf('good.test')
  const { deps, notifications, domain } = await rounds(t, [rowOf('bad.test'), good], provingZone(good))
  const resolver = {
    ...deps.resolver,
    resolveRecords: async (name: string, type: 'CNAME' | 'TXT') => {
      if (name.endsWith('bad.test')) throw new Error('a bug')
      return deps.resolver.resolveRecords(name, type)
    },
  } as RecheckDeps['resolver']
  await recheckDomains({ ...deps, resolver }, going)
  t.match(await domain('bad.test'), { status: 'pending', next_check_at: now + HOUR, checked_at: null })
  t.match(await domain('good.test'), { status: 'verified' })
  t.ok(notifications.includes('error bad.test'))
})

t.test('when nothing can be stored, a round ends with one report', async (t) => {
  const { deps, notifications } = await rounds(t, [rowOf('a.test'), rowOf('b.test')], {})
  const commit = async (): Promise<void> => {
    throw new StorageFault('SQLITE_FULL', 'database or disk is full')
  }
  await t.rejects(recheckDomains({ ...deps, commit }, going), { name: 'StorageFault' })
  t.same(notifications, [])
})

t.test('a change of status is reported even if the rotation does not proceed', async (t) => {
  const row = rowOf('a.test', { rotation_asked_at: now - HOUR })
  const { deps, notifications, domain } = await rounds(t, [row], provingZone(row))
  let commits = 0
  const commit: RecheckDeps['commit'] = async (writes) => {
    commits += 1
    if (commits > 1) throw new StorageFault('SQLITE_FULL', 'database or disk is full')
    await deps.commit(writes)
  }
  await t.rejects(recheckDomains({ ...deps, commit }, going), { name: 'StorageFault' })
  t.match(await domain('a.test'), { status: 'verified' })
  t.same(notifications, ['info a.test', 'warn a.test', 'changed ws_1 a.test'])
})

t.test('a round ends when it is aborted', async (t) => {
  const { deps, domain } = await rounds(t, [rowOf('a.test')], {})
  await recheckDomains(deps, AbortSignal.abort())
  t.match(await domain('a.test'), { checked_at: null, next_check_at: now - 1 })
})

t.test('nothing is cached between two checks, and nothing is awaited once it is stopped', async (t) => {
  let there = false
  const server = await dnsServer((question) => {
    if (question === 'CNAME silent.test') return 'silence'
    return there
      ? [{ type: 'CNAME', ttl: 3600, value: 'b.test' }]
      : { code: 'NXDOMAIN', soa: { ttl: 3600, minimum: 3600 } }
  })
  t.teardown(() => server.close())
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  const ask = openDomainResolver({ dns: { servers: dnsServers(server.address) } } as never, () => now, ended.signal)
  t.same(await ask.resolveRecords('a.test', 'CNAME'), { kind: 'no-domain' })
  there = true
  t.same(await ask.resolveRecords('a.test', 'CNAME'), { kind: 'records', records: ['b.test'] })
  const asked = ask.resolveRecords('silent.test', 'CNAME')
  ended.abort()
  t.match(await asked, { kind: 'failure' })
})
