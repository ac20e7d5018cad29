/** Sending domains: who may claim one, its keys and records, and what the books remember. */
import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { dnsRecords } from '../../src/domains/dns-records.js'
import { domainBook } from '../../src/domains/domain-book.js'
import { domainResource } from '../../src/domains/domain-resource.js'
import { importedKey, newDomain, refuseTaken } from '../../src/domains/new-domain.js'
import { deleteDomain, domainById, domainByName, forceVerified, mailHost } from '../../src/domains/sending-domains.js'
import { deleteDkimKeys, dkimKeysOf, keyChain } from '../../src/domains/signing-keys.js'
import { parseDomainName } from '../../src/mail/address.js'
import { returnPath } from '../../src/mail/return-path.js'
import type { Read } from '../../src/storage/prepared.js'
import { ConstraintViolated, Missed } from '../../src/storage/write.js'
import { temporaryDatabase } from '../helpers/database.js'

const domain = parseDomainName('a.test')
const wanted = { domain, forced: false, inbound: false, now: 1000 }
const idOf = (read: Read): string => domainByName(read, { workspaceId: 'ws_1', domain })[0]?.id ?? ''
const long = (length: number): string => `${`${'x'.repeat(60)}.`.repeat(4).slice(0, length - 5)}.test`

t.test('an unverified claim blocks nobody, a verified one everybody else', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  for (const workspaceId of ['ws_1', 'ws_2']) await commit((await newDomain(read, { ...wanted, workspaceId })).writes)
  await t.rejects(newDomain(read, { ...wanted, workspaceId: 'ws_1' }), { kind: 'conflict', message: /already/ })
  await commit([forceVerified({ workspaceId: 'ws_2', domain, at: 2000 })])
  t.match(domainByName(read, { workspaceId: 'ws_2', domain }), [{ status: 'verified', forced: 1, verified_at: 2000 }])
  await t.rejects(newDomain(read, { ...wanted, workspaceId: 'ws_3' }), {
    kind: 'domain-taken',
    message: /another workspace/,
  })
  t.throws(() => refuseTaken(read, 'ws_1', domain), { name: 'Refusal', kind: 'domain-taken' })
  t.doesNotThrow(() => refuseTaken(read, 'ws_2', domain))
  await t.rejects(
    commit([forceVerified({ workspaceId: 'ws_1', domain, at: 2000 })]),
    ConstraintViolated,
    'the index holds',
  )
  await t.rejects(commit([forceVerified({ workspaceId: 'ws_9', domain, at: 2000 })]), Missed)
})

t.test('a domain has two keys of which one signs', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit((await newDomain(read, { ...wanted, workspaceId: 'ws_1', forced: true })).writes)
  const keys = dkimKeysOf(read, { workspaceId: 'ws_1', domain })
  t.match(keys, [
    { selector: 'dkim1', signing: 1, public_record: /^v=DKIM1; k=rsa; p=[A-Za-z0-9+/=]+$/ },
    { selector: 'dkim2', signing: 0 },
  ])
  t.not(keys[0]?.public_record, keys[1]?.public_record)
  const chain = keyChain(database)
  const signing = chain.signing('ws_1', domain)
  t.match(signing, { domain: 'a.test', selector: 'dkim1' })
  t.equal(chain.signing('ws_1', domain), signing, 'kept')
  t.equal(chain.signing('ws_2', domain), undefined, 'for its workspace alone')

  const pem = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs1', format: 'pem' })
  const place = { workspaceId: 'ws_1', domain, selector: 'Mail2024', now: 3000 }
  await commit(importedKey(place, pem.toString()))
  chain.drop()
  t.match(chain.signing('ws_1', domain), { selector: 'mail2024' })
  await commit(importedKey(place, pem.toString()))
  t.equal(dkimKeysOf(read, { workspaceId: 'ws_1', domain }).length, 3, 'the same selector again takes its place')
  for (const selector of ['', 'a b', '-a', 'a..b', 'x'.repeat(64)]) {
    t.throws(
      () => importedKey({ ...place, selector }, pem.toString()),
      { name: 'Refusal', kind: 'invalid-parameter' },
      selector,
    )
  }
  t.throws(() => importedKey(place, 'nonsense'), { name: 'Refusal', kind: 'invalid-parameter' })

  const id = idOf(read)
  t.match(domainById(read, { workspaceId: 'ws_1', id }), [{ domain }])
  t.same(domainById(read, { workspaceId: 'ws_2', id }), [])
  await t.rejects(commit([deleteDomain({ workspaceId: 'ws_2', id })]), Missed)
  await commit([deleteDomain({ workspaceId: 'ws_1', id }), deleteDkimKeys({ workspaceId: 'ws_1', domain })])
  const kept = chain.signing('ws_1', domain)
  chain.forget('ws_2', domain)
  t.equal(chain.signing('ws_1', domain), kept, 'of others nothing is forgotten')
  chain.forget('ws_1', domain)
  t.equal(chain.signing('ws_1', domain), undefined)
  await t.rejects(commit([deleteDomain({ workspaceId: 'ws_1', id })]), Missed)
})

t.test('the book knows verified domains alone, until it is told to forget one', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit((await newDomain(read, { ...wanted, workspaceId: 'ws_1' })).writes)
  const book = domainBook({ read })
  t.equal(book.verified('ws_1', 'a.test'), undefined)
  await commit([forceVerified({ workspaceId: 'ws_1', domain, at: 2000 })])
  t.match(book.verified('ws_1', 'a.test'), { domain: 'a.test' }, 'a no is not remembered')
  t.equal(book.verified('ws_2', 'a.test'), undefined)
  await commit([deleteDomain({ workspaceId: 'ws_1', id: idOf(read) })])
  t.ok(book.verified('ws_1', 'a.test'))
  book.forget('ws_2', 'a.test')
  t.ok(book.verified('ws_1', 'a.test'), 'of others nothing is forgotten')
  book.forget('ws_1', 'a.test')
  t.equal(book.verified('ws_1', 'a.test'), undefined)
})

t.test('three records stand for everything, and the resource shows them', async (t) => {
  t.same(dnsRecords('a.test', 'zone.test'), [
    { type: 'CNAME', name: 'posthorn.a.test', value: 'mail.zone.test', purpose: 'mail_cname' },
    { type: 'CNAME', name: 'dkim1._domainkey.a.test', value: 'dkim1.a.test._domainkey.zone.test', purpose: 'dkim1' },
    { type: 'CNAME', name: 'dkim2._domainkey.a.test', value: 'dkim2.a.test._domainkey.zone.test', purpose: 'dkim2' },
  ])
  const { database } = await temporaryDatabase(t)
  await database.commit((await newDomain(database.read, { ...wanted, workspaceId: 'ws_1', inbound: true })).writes)
  const [row] = domainByName(database.read, { workspaceId: 'ws_1', domain })
  if (row === undefined) throw new Error('not there')
  t.match(domainResource(row, 'zone.test'), {
    domain: 'a.test',
    status: 'pending',
    inbound: true,
    created_at: '1970-01-01T00:00:01.000Z',
    verified_at: null,
    dns_records: [{ status: 'pending' }, { status: 'pending' }, { status: 'pending' }],
  })
})

t.test('a domain is as long as its return paths can be', async (t) => {
  const { database } = await temporaryDatabase(t)
  const id = '00000000-0000-7000-8000-000000000000'
  const longest = parseDomainName(long(195))
  t.equal(returnPath(createSecretKey(Buffer.alloc(32)), id, mailHost(longest)).length, 254)
  await database.commit((await newDomain(database.read, { ...wanted, workspaceId: 'ws_1', domain: longest })).writes)
  const longer = parseDomainName(long(196))
  await t.rejects(newDomain(database.read, { ...wanted, workspaceId: 'ws_1', domain: longer }), {
    name: 'Refusal',
    kind: 'invalid-parameter',
  })
})
