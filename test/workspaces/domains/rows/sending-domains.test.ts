/** Sending domains: who may claim one, its keys and records, and its caches. */
import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { parseAddress, parseDomainName } from '../../../../src/base/mail/address.js'
import { localPartKey } from '../../../../src/base/mail/mailbox-key.js'
import { createReturnPath } from '../../../../src/base/mail/recipient-token.js'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { ConstraintViolated, WriteConflict } from '../../../../src/base/storage/db/write.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { operatorActor } from '../../../../src/workspaces/accounts/access/audit-log.js'
import { changeDomain } from '../../../../src/workspaces/domains/change-domain.js'
import { deleteSendingDomain } from '../../../../src/workspaces/domains/delete-domain.js'
import { deleteDkimKeys, dkimKeysOf, SigningKeyCache } from '../../../../src/workspaces/domains/dkim/signing-keys.js'
import { toDomainResource } from '../../../../src/workspaces/domains/domain-resource.js'
import { buildDomain, installImportedKey, requireNotTaken } from '../../../../src/workspaces/domains/new-domain.js'
import { ReceivingDomainCache } from '../../../../src/workspaces/domains/receiving-domain-cache.js'
import { defaultInboundPolicy, parseInboundPolicy } from '../../../../src/workspaces/domains/rows/inbound-policy.js'
import {
  deleteDomain,
  domainById,
  domainByName,
  forceVerified,
  mailHostOf,
} from '../../../../src/workspaces/domains/rows/sending-domains.js'
import { SendingDomainCache } from '../../../../src/workspaces/domains/sending-domain-cache.js'
import {
  blockAddresses,
  listBlockedLocalParts,
  parseBlockedLocalPart,
  requireBlockedCapacity,
  unblockAddresses,
} from '../../../../src/workspaces/domains/verification/blocked-addresses.js'
import { dnsRecordsOf } from '../../../../src/workspaces/domains/verification/dns-records.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const domain = parseDomainName('a.test')
const request = { domain, forced: false, inbound: false, now: 1000 }
const idOf = async (read: Read): Promise<string> =>
  (await domainByName(read, { workspaceId: 'ws_1', domain }))[0]?.id ?? ''
const long = (length: number): string => `${`${'x'.repeat(60)}.`.repeat(4).slice(0, length - 5)}.test`

t.test('an unverified claim blocks no other workspace, a verified one blocks all', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  for (const workspaceId of ['ws_1', 'ws_2'])
    await commit((await buildDomain(read, { ...request, workspaceId })).writes)
  await t.rejects(buildDomain(read, { ...request, workspaceId: 'ws_1' }), { kind: 'conflict', message: /already/ })
  await commit([forceVerified({ workspaceId: 'ws_2', domain, at: 2000 })])
  t.match(await domainByName(read, { workspaceId: 'ws_2', domain }), [
    { status: 'verified', forced: 1, verified_at: 2000 },
  ])
  await t.rejects(buildDomain(read, { ...request, workspaceId: 'ws_3' }), {
    kind: 'domain-taken',
    message: /another workspace/,
  })
  await t.rejects(() => requireNotTaken(read, 'ws_1', domain), { name: 'Refusal', kind: 'domain-taken' })
  await t.resolves(() => requireNotTaken(read, 'ws_2', domain))
  await t.rejects(
    commit([forceVerified({ workspaceId: 'ws_1', domain, at: 2000 })]),
    ConstraintViolated,
    'the index holds',
  )
  await t.rejects(commit([forceVerified({ workspaceId: 'ws_9', domain, at: 2000 })]), WriteConflict)
})

t.test('a domain has two keys of which one signs', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit((await buildDomain(read, { ...request, workspaceId: 'ws_1', forced: true })).writes)
  const keys = await dkimKeysOf(read, { workspaceId: 'ws_1', domain })
  t.match(keys, [
    { selector: 'dkim1', signing: 1, public_record: /^v=DKIM1; k=rsa; p=[A-Za-z0-9+/=]+$/ },
    { selector: 'dkim2', signing: 0 },
  ])
  t.not(keys[0]?.public_record, keys[1]?.public_record)
  const chain = new SigningKeyCache(database.read)
  const signing = await chain.find('ws_1', domain)
  t.match(signing, { domain: 'a.test', selector: 'dkim1' })
  t.equal(await chain.find('ws_1', domain), signing, 'kept')
  t.equal(await chain.find('ws_2', domain), undefined, 'for its workspace alone')

  const pem = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs1', format: 'pem' })
  const place = { workspaceId: 'ws_1', domain, selector: 'Mail2024', now: 3000 }
  await commit(installImportedKey(place, pem.toString()))
  chain.drop()
  t.match(await chain.find('ws_1', domain), { selector: 'mail2024' })
  await commit(installImportedKey(place, pem.toString()))
  t.equal(
    (await dkimKeysOf(read, { workspaceId: 'ws_1', domain })).length,
    3,
    'the same selector again takes its place',
  )
  for (const selector of ['', 'a b', '-a', 'a..b', 'x'.repeat(64), `${'ab.'.repeat(21)}c`]) {
    t.throws(
      () => installImportedKey({ ...place, selector }, pem.toString()),
      { name: 'Refusal', kind: 'invalid-parameter' },
      selector,
    )
  }
  t.throws(() => installImportedKey(place, 'nonsense'), { name: 'Refusal', kind: 'invalid-parameter' })

  const id = await idOf(read)
  t.match(await domainById(read, { workspaceId: 'ws_1', id }), [{ domain }])
  t.same(await domainById(read, { workspaceId: 'ws_2', id }), [])
  await t.rejects(commit([deleteDomain({ workspaceId: 'ws_2', id })]), WriteConflict)
  await commit([deleteDomain({ workspaceId: 'ws_1', id }), deleteDkimKeys({ workspaceId: 'ws_1', domain })])
  const kept = await chain.find('ws_1', domain)
  chain.forget('ws_2', domain)
  t.equal(await chain.find('ws_1', domain), kept, 'nothing of other workspaces is dropped')
  chain.forget('ws_1', domain)
  t.equal(await chain.find('ws_1', domain), undefined)
  await t.rejects(commit([deleteDomain({ workspaceId: 'ws_1', id })]), WriteConflict)
})

t.test('the cache holds verified domains only, until one is dropped', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit((await buildDomain(read, { ...request, workspaceId: 'ws_1' })).writes)
  const cache = new SendingDomainCache(read)
  t.equal(await cache.findVerified('ws_1', domain), undefined)
  await commit([forceVerified({ workspaceId: 'ws_1', domain, at: 2000 })])
  t.match(await cache.findVerified('ws_1', domain), { domain: 'a.test' }, 'a negative answer is not cached')
  t.equal(await cache.findVerified('ws_2', domain), undefined)
  await commit([deleteDomain({ workspaceId: 'ws_1', id: await idOf(read) })])
  t.ok(await cache.findVerified('ws_1', domain))
  cache.forget('ws_2', domain)
  t.ok(await cache.findVerified('ws_1', domain), 'nothing of other workspaces is dropped')
  cache.forget('ws_1', domain)
  t.equal(await cache.findVerified('ws_1', domain), undefined)
})

t.test('which workspace receives mail for a domain is cached until it changes', async (t) => {
  const { database } = await temporaryDatabase(t)
  let reads = 0
  const read: Read = async (sql, parameters) => {
    reads += 1
    return database.read(sql, parameters)
  }
  const cache = new ReceivingDomainCache({ read })
  const asked = async (name = domain): Promise<unknown> => {
    const before = reads
    const found = await cache.find(name)
    return [found, reads - before]
  }
  t.same(await asked(), [undefined, 1])
  t.same(await asked(), [undefined, 0], 'an unregistered name is cached, too')
  await database.commit((await buildDomain(read, { ...request, workspaceId: 'ws_1' })).writes)
  cache.forget(domain)
  t.same(await asked(), [undefined, 1], 'a claim receives nothing')
  await database.commit([forceVerified({ workspaceId: 'ws_1', domain, at: 2000 })])
  cache.drop()
  t.same(await asked(), [{ workspaceId: 'ws_1', inbound: false, blocked: new Set(), policy: defaultInboundPolicy }, 1])
  const [row] = await domainById(read, { workspaceId: 'ws_1', id: await idOf(read) })
  if (row === undefined) throw new Error('not there')
  await database.commit([
    ...blockAddresses(row, ['info', 'sold', 'info']),
    { sql: 'update domains set inbound = 1', parameters: [] },
  ])
  t.match(await asked(), [{ inbound: false }, 0], 'as it was')
  cache.forget('b.test')
  t.match(await asked(), [{ inbound: false }, 0], 'nothing of other workspaces is dropped')
  cache.forget(domain)
  t.same(await asked(), [
    { workspaceId: 'ws_1', inbound: true, blocked: new Set(['info', 'sold']), policy: defaultInboundPolicy },
    2,
  ])
  await database.commit(unblockAddresses(row, ['sold', 'never']))
  t.same(await listBlockedLocalParts(read, row), ['info'])
  await deleteSendingDomain(database, row, operatorActor, 3000)
  t.same(await listBlockedLocalParts(read, row), [])
  cache.forget(domain)
  t.same(await asked(), [undefined, 1])
})

t.test('any number of foreign names evicts no domain of ours, and the cache stays small', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { commit } = database
  const names = ['a', 'b', 'c'].map((name) => parseDomainName(`${name}.test`))
  for (const name of names) {
    const { row, writes } = await buildDomain(database.read, {
      ...request,
      inbound: true,
      workspaceId: 'ws_1',
      domain: name,
      forced: true,
    })
    await commit([...writes, ...blockAddresses(row, ['one', 'two'])])
  }
  let reads = 0
  const read: Read = async (sql, parameters) => {
    reads += 1
    return database.read(sql, parameters)
  }
  const ask = async (cache: ReceivingDomainCache, ...asked: string[]): Promise<number> => {
    reads = 0
    for (const name of asked) await cache.find(parseDomainName(name))
    return reads
  }
  const few = new ReceivingDomainCache({ read }, { maxWeight: 2 * (20 + 2), maxForeignNames: 2 })
  t.equal(await ask(few, 'a.test'), 2)
  t.equal(await ask(few, 'w.test', 'x.test', 'y.test', 'z.test'), 4)
  t.equal(await ask(few, 'a.test', 'z.test'), 0)
  t.equal(await ask(few, 'w.test'), 1)
  t.equal(await ask(few, 'b.test', 'a.test', 'b.test'), 2)
  t.equal(await ask(few, 'c.test', 'c.test', 'b.test'), 2, 'full: the least recently used leaves')
  t.equal(await ask(few, 'a.test'), 2)
  few.forget('a.test')
  t.equal(await ask(few, 'c.test', 'b.test', 'c.test'), 2, 'what was forgotten weighs nothing')
})

t.test('a blocked address has one form, and postmaster cannot be blocked', (t) => {
  const key = (given: string): string => parseBlockedLocalPart(given, domain, 'blocked_addresses')
  const refused = { name: 'Refusal', kind: 'invalid-parameter', details: { field: 'blocked_addresses' } }
  for (const [given, kept] of [
    ['Sold', 'sold'],
    ['sold@A.Test', 'sold'],
    ['sold+x@a.test', 'sold+x'],
    ['"sold"@a.test', 'sold'],
    ['"Two words"', '"two words"'],
    ['"a\\"b"', '"a\\"b"'],
    ['""', '""'],
    ['"\\"\\""', '"\\"\\""'],
    ['abuse', 'abuse'],
  ] as const) {
    t.equal(key(given), kept, given)
    t.equal(localPartKey(parseAddress(`${kept}@a.test`)), kept, 'the form of a form is itself')
  }
  for (const given of ['', '@a.test', 'sold@b.test', 'sold@', 'two words', 'a@b@a.test', 'x'.repeat(65), 'a\r\nb']) {
    t.throws(() => key(given), refused, given)
  }
  for (const given of ['postmaster', 'PostMaster@a.test', '"postmaster"', '"p\\ostmaster"@a.test']) {
    t.throws(() => key(given), { ...refused, message: /must take mail to its postmaster/ }, given)
  }
  t.doesNotThrow(() => requireBlockedCapacity(1000, 'blocked_addresses'))
  t.throws(() => requireBlockedCapacity(1001, 'blocked_addresses'), refused)
  t.end()
})

t.test('three records cover everything, and the resource shows them', async (t) => {
  const label = '7abc8defaabbccddeeff'
  t.same(dnsRecordsOf({ id: '019a0000-0000-7abc-8def-aabbccddeeff', domain: parseDomainName('a.test') }, 'zone.test'), [
    { type: 'CNAME', name: 'posthorn.a.test', value: 'mail.zone.test', purpose: 'mail_cname' },
    { type: 'CNAME', name: 'dkim1._domainkey.a.test', value: `dkim1.${label}._domainkey.zone.test`, purpose: 'dkim1' },
    { type: 'CNAME', name: 'dkim2._domainkey.a.test', value: `dkim2.${label}._domainkey.zone.test`, purpose: 'dkim2' },
  ])
  const { database } = await temporaryDatabase(t)
  await database.commit((await buildDomain(database.read, { ...request, workspaceId: 'ws_1', inbound: true })).writes)
  const [row] = await domainByName(database.read, { workspaceId: 'ws_1', domain })
  if (row === undefined) throw new Error('not there')
  t.match(toDomainResource(row, 'zone.test'), {
    domain: 'a.test',
    status: 'pending',
    inbound: true,
    created_at: '1970-01-01T00:00:01.000Z',
    verified_at: null,
    dns_records: [{ status: 'pending' }, { status: 'pending' }, { status: 'pending' }],
  })
})

t.test('the length of a domain leaves room for its return paths', async (t) => {
  const { database } = await temporaryDatabase(t)
  const id = '00000000-0000-7000-8000-000000000000'
  const longest = parseDomainName(long(195))
  t.equal(createReturnPath(createSecretKey(Buffer.alloc(32)), id, mailHostOf(longest)).length, 254)
  await database.commit((await buildDomain(database.read, { ...request, workspaceId: 'ws_1', domain: longest })).writes)
  const longer = parseDomainName(long(196))
  await t.rejects(buildDomain(database.read, { ...request, workspaceId: 'ws_1', domain: longer }), {
    name: 'Refusal',
    kind: 'invalid-parameter',
  })
})

t.test('two concurrent changes are both applied', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit((await buildDomain(read, { ...request, workspaceId: 'ws_1', forced: true, inbound: true })).writes)
  const [row] = await domainByName(read, { workspaceId: 'ws_1', domain })
  if (row === undefined) throw new Error('a domain')
  const act = { actor: operatorActor, now: 2000 }
  await Promise.all([
    changeDomain(database, row, { inbound: false }, act),
    changeDomain(database, row, { block: ['sold'] }, act),
    changeDomain(database, row, { inboundPolicy: { spam: 'refuse' } }, act),
    changeDomain(database, row, { inboundPolicy: { dmarc: 'strict', greylisting: undefined } }, act),
  ])
  t.match(await domainByName(read, { workspaceId: 'ws_1', domain }), [{ inbound: 0 }])
  t.same(await listBlockedLocalParts(read, row), ['sold'])
  const [changed] = await domainByName(read, { workspaceId: 'ws_1', domain })
  const policy = { greylisting: 'default', spam: 'refuse', dmarc: 'strict' } as const
  t.same(parseInboundPolicy(changed?.inbound_policy ?? toJson({})), policy)
  if (changed === undefined) throw new Error('a domain')
  const audits = async (): Promise<number> =>
    (await read<{ n: number }>('select count(*) as n from audit_log', []))[0]?.n ?? -1
  const before = await audits()
  await changeDomain(database, changed, { inboundPolicy: policy }, act)
  t.equal(await audits(), before, 'what does not change is not written')
})
