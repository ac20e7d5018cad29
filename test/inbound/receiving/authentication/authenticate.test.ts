import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import t from 'tap'
import type { Authentication, Connection } from '../../../../src/base/mail/authentication-results.js'
import { summarizeResults } from '../../../../src/base/mail/authentication-results.js'
import { type Clock, systemClock } from '../../../../src/base/platform/clock.js'
import { defaultResolverSettings, openResolver } from '../../../../src/base/platform/dns/resolver.js'
import { summarizeInbound } from '../../../../src/inbound/receiving/analysis/inbound-content.js'
import {
  type DmarcSetting,
  decideAcceptance,
} from '../../../../src/inbound/receiving/authentication/acceptance-policy.js'
import { authenticate, defaultLimits } from '../../../../src/inbound/receiving/authentication/authenticate.js'
import { WholeBodyHash } from '../../../../src/inbound/receiving/authentication/body-hash.js'
import { MessageQueries } from '../../../../src/inbound/receiving/authentication/dns-queries.js'
import {
  formatAuthenticationResults,
  formatReceivedSpf,
} from '../../../../src/inbound/receiving/authentication/result-fields.js'
import { signDkim } from '../../../../src/workspaces/domains/dkim/sign.js'
import { dnsServers } from '../../../helpers/config-values.js'
import { type DnsRecord, dnsServer } from '../../../helpers/dns/dns-server.js'
import {
  type RecordZone,
  type RecordZoneResolver,
  recordZone,
  type ZoneRecords,
} from '../../../helpers/dns/record-zone.js'
import {
  ed25519Key,
  rsaKey,
  type SignatureTags,
  signMessage,
  type TestKey,
} from '../../../helpers/mail/sign-message.js'
import { parsedMessage } from '../../../helpers/parsed-message.js'

const now = Date.UTC(2026, 5, 1, 12)
const key = rsaKey()
const partly = 'not verified: body only partly signed'
const plain = 'From: A <a@b.test>\r\nSubject: x\r\n\r\nbody\r\n'

interface Given {
  readonly zone?: RecordZone
  readonly connection?: Partial<Connection>
  readonly limits?: Partial<typeof defaultLimits>
  readonly clock?: Clock
}

interface Found extends Authentication {
  readonly asked: readonly string[]
}

const hereby: Connection = { clientAddress: '192.0.2.1', helo: 'h.test', envelopeFrom: '', hostname: 'mx.test' }

async function look(
  message: string | Buffer,
  { zone = {}, connection, limits, clock = () => now }: Given = {},
): Promise<Found> {
  const resolver: RecordZoneResolver = recordZone(zone)
  const raw = typeof message === 'string' ? Buffer.from(message, 'latin1') : message
  const deps = { resolver, clock, limits: { ...defaultLimits, ...limits } }
  return { ...(await authenticate(raw, { ...hereby, ...connection }, deps)), asked: resolver.asked }
}

/** A zone with a key at selector `s` of the domain. */
function keyAt(domain: string, record: string | 'SERVFAIL' | 'silence', selector = 's'): RecordZone {
  const entry: ZoneRecords | 'SERVFAIL' | 'silence' =
    record === 'SERVFAIL' || record === 'silence' ? record : { TXT: [record] }
  return { [`${selector}._domainkey.${domain}`]: entry }
}

const good = keyAt('b.test', `v=DKIM1; ${key.record}`)

async function dkimOf(tags: Partial<SignatureTags>, zone: RecordZone = good, by: TestKey = key): Promise<string> {
  const { dkim } = await look(signMessage(plain, by, { domain: 'b.test', ...tags }), { zone })
  return dkim.map(({ result, reason }) => (reason === null ? result : `${result}: ${reason}`)).join(', ')
}

t.test('a valid signature passes, with its domain and selector', async (t) => {
  const { dkim } = await look(signMessage(plain, key, { domain: 'b.test' }), { zone: good })
  t.same(dkim, [{ result: 'pass', domain: 'b.test', selector: 's', reason: null }])
})

t.test('a signature of our own signer passes, Ed25519 does, and an unsigned message has no verdict', async (t) => {
  const ours = signDkim(Buffer.from(plain), { domain: 'b.test', selector: 's', keyObject: key.privateKey }, now)
  t.match((await look(`${ours}${plain}`, { zone: good })).dkim, [{ result: 'pass' }])
  const curve = ed25519Key()
  t.equal(await dkimOf({}, keyAt('b.test', curve.record), curve), 'pass')
  const unsigned = await look(plain)
  t.same(unsigned.dkim, [])
  t.equal(summarizeResults(unsigned).dkim_result, 'none')
})

t.test('a changed header or body fails', async (t) => {
  const message = signMessage(plain, key, { domain: 'b.test' })
  const dkim = async (text: string): Promise<unknown> => (await look(text, { zone: good })).dkim[0]
  t.match(await dkim(message.replace('Subject: x', 'Subject: y')), { result: 'fail', reason: 'bad signature' })
  t.match(await dkim(message.replace('body', 'b0dy')), { result: 'fail', reason: 'body hash did not verify' })
  t.match(await dkim(message.replace('\r\nbody', '\r\n')), { result: 'fail' })
})

t.test('a message without a body is verified', async (t) => {
  const zone = good
  for (const bare of ['From: a@b.test\r\nSubject: x\r\n', 'From: a@b.test\r\nSubject: x\r\n\r\n']) {
    t.match((await look(signMessage(bare, key, { domain: 'b.test' }), { zone })).dkim, [{ result: 'pass' }])
  }
})

t.test('a header that ends at a line which is no field is verified as it will be stored', async (t) => {
  const open = 'From: a@b.test\r\nSubject: x\r\nno field\r\n'
  const closed = 'From: a@b.test\r\nSubject: x\r\n\r\nno field\r\n'
  const [field = ''] = signMessage(closed, key, { domain: 'b.test' }).split('\r\n')
  t.match((await look(`${field}\r\n${open}`, { zone: good })).dkim, [{ result: 'pass' }])
})

t.test('names with underscores are looked up as they are written', async (t) => {
  const rows: readonly (readonly [Partial<SignatureTags>, string])[] = [
    [{ domain: 'mail_1.b.test', selector: '_s_1' }, 'pass'],
    [{ domain: 'mail_1.b.test', selector: '_s_1', more: 'i=a_b@x_y.mail_1.b.test' }, 'pass'],
    [{ domain: 'mail_1.b.test', selector: '_s_1', more: 'i=@mail_2.b.test' }, 'permerror: domain mismatch'],
    [{ domain: 'mail_1.b.test', selector: '_s_1', more: 'i=none' }, 'permerror: signature syntax error'],
    [{ domain: 'mail_1..b.test', selector: '_s_1' }, 'permerror: signature syntax error'],
  ]
  const zone = keyAt('mail_1.b.test', `v=DKIM1; ${key.record}`, '_s_1')
  for (const [tags, result] of rows) t.equal(await dkimOf(tags, zone), result, JSON.stringify(tags))
  t.equal(
    await dkimOf(
      { domain: 'mail_1.b.test', selector: '_s_1', more: 'i=@x.mail_1.b.test' },
      keyAt('mail_1.b.test', `v=DKIM1; t=s; ${key.record}`, '_s_1'),
    ),
    'permerror: domain mismatch',
  )
  const { dkim, dmarc } = await look(signMessage(plain, key, { domain: 'b.test', selector: 's_1' }), {
    zone: { ...keyAt('b.test', key.record, 's_1'), '_dmarc.b.test': { TXT: ['v=DMARC1; p=reject'] } },
  })
  t.match([dkim, dmarc], [[{ result: 'pass', domain: 'b.test', selector: 's_1' }], { result: 'pass' }])
})

t.test('a signature that breaks a rule is a permerror', async (t) => {
  const rows: readonly (readonly [Partial<SignatureTags>, string])[] = [
    [{ more: 'i=@other.test' }, 'permerror: domain mismatch'],
    [{ more: 'i=@xb.test' }, 'permerror: domain mismatch'],
    [{ more: 'i=joe@sub.b.test' }, 'pass'],
    [{ more: 'q=http' }, 'permerror: unsupported query method'],
    [{ more: 'q=http:dns/txt' }, 'pass'],
    [{ more: 't=abc' }, 'permerror: signature syntax error'],
    [{ more: 'd=c.test' }, 'permerror: signature syntax error'],
    [{ more: 'x=1000' }, 'permerror: expired'],
    [{ more: 't=2000; x=1000' }, 'permerror: invalid expiration'],
    [{ names: 'subject' }, 'permerror: From field not signed'],
    [{ algorithm: 'rsa-md5' }, 'permerror: unknown algorithm'],
    [{ algorithm: 'rsa-sha1' }, 'fail: body hash did not verify'],
    [{ more: 'l=0', bodyHash: '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' }, `policy: ${partly}`],
    [{ more: 'l=6' }, `policy: ${partly}`],
  ]
  for (const [tags, result] of rows) t.equal(await dkimOf(tags), result, JSON.stringify(tags))
})

t.test('a signature whose key does not fit fails', async (t) => {
  const sub = { more: 'i=@sub.b.test' }
  const rows: readonly (readonly [string, string, Partial<SignatureTags>?])[] = [
    [`t=s; ${key.record}`, 'permerror: domain mismatch', sub],
    [`t=s; ${key.record}`, 'pass', { more: 'i=joe@b.test' }],
    [`t=y; ${key.record}`, 'pass'],
    [`h=sha1; ${key.record}`, 'permerror: inappropriate hash algorithm'],
    [`h=sha1:sha256; ${key.record}`, 'pass'],
    [`s=other; ${key.record}`, 'permerror: key not for email'],
    [`v=DKIM2; ${key.record}`, 'permerror: unknown key version'],
    ['k=rsa; p=', 'permerror: invalid public key'],
    ['k=rsa; p=abcd', 'permerror: unknown key type'],
    [ed25519Key().record, 'permerror: inappropriate key algorithm'],
    ['SERVFAIL', 'temperror: DNS failure: EDNSFAULT'],
  ]
  for (const [record, result, tags] of rows) t.equal(await dkimOf(tags ?? {}, keyAt('b.test', record)), result, record)
  t.equal(await dkimOf({}, {}), 'permerror: no key')
  const short = rsaKey(768)
  t.equal(await dkimOf({}, keyAt('b.test', short.record), short), 'policy: weak-key')
})

t.test('if there are several records, the one with a key is used', async (t) => {
  t.equal(await dkimOf({}, { 's._domainkey.b.test': { TXT: ['v=spf1 -all', key.record] } }), 'pass')
})

t.test('ten signatures are verified, the rest are named', async (t) => {
  let message = plain
  for (let at = 0; at < 13; at += 1) message = signMessage(message, key, { domain: 'b.test', selector: `s${at}` })
  const zone = Object.assign({}, ...Array.from({ length: 13 }, (_, at) => keyAt('b.test', key.record, `s${at}`)))
  const { dkim, asked } = await look(message, { zone })
  t.equal(dkim.filter(({ result }) => result === 'pass').length, 10)
  t.match(dkim.slice(10), [{ result: 'policy', domain: 'b.test', selector: 's2' }, {}, { selector: 's0' }])
  t.equal(asked.filter((question) => question.includes('_domainkey')).length, 10)
})

t.test('a signature of a part of the body is policy, and nothing is hashed for it', async (t) => {
  const parts = Array.from({ length: 10 }, (_, at) => ({ domain: 'b.test', selector: 's', more: `l=${at}` }))
  const message = parts.reduce((text, tags) => signMessage(text, key, tags), `${plain}${'x'.repeat(70_000)}\r\n`)
  let hashed = 0
  const { hashBody } = WholeBodyHash.prototype
  t.intercept(WholeBodyHash.prototype, 'hashBody', {
    value(this: WholeBodyHash, body: Buffer) {
      hashed += body.length
      return hashBody.call(this, body)
    },
  })
  const { dkim } = await look(message, { zone: good })
  t.same(new Set(dkim.map(({ result, reason }) => `${result} ${reason}`)), new Set([`policy ${partly}`]))
  t.equal(dkim.length, 10)
  t.equal(hashed, 0)
  const whole = signMessage(message, key, { domain: 'b.test' })
  const found = await look(whole, { zone: good })
  t.match(found.dkim.slice(0, 2), [{ result: 'pass' }, { result: 'policy', reason: partly }])
  t.ok(hashed >= 70_000 && hashed < 140_000, `once: ${hashed} octets`)
  const chain = (await sealArc(plain, 1, 'none')).replace(/^(ARC-Message-Signature: i=1;)/m, '$1 l=1;')
  t.match((await look(chain, { zone: keyAt('list.test', key.record) })).arc, { result: 'fail' })
})

t.test('hashing for all signatures of a message is limited, and the first one always fits', async (t) => {
  const first = signMessage(plain, key, { domain: 'b.test' })
  const second = signMessage(first, key, { domain: 'b.test', canonicalization: 'relaxed/simple' })
  const bodyOctets = 'body\r\n'.length
  const results = async (hashBudget: number): Promise<readonly string[]> =>
    (await look(second, { zone: good, limits: { hashBudget } })).dkim.map(({ result }) => result)
  t.same(await results(2 * bodyOctets), ['pass', 'pass'])
  t.same(await results(2 * bodyOctets - 1), ['pass', 'policy'])
  t.same(await results(0), ['pass', 'policy'])
  const same = await look(signMessage(first, key, { domain: 'b.test' }), { zone: good, limits: { hashBudget: 0 } })
  t.match(same.dkim, [{ result: 'pass' }, { result: 'pass' }], 'what is hashed already costs nothing more')
})

t.test('a signature longer than any signer writes is skipped before it costs anything', async (t) => {
  const many = `from${':to'.repeat(201)}`
  const long = `from; x-pad=${'a'.repeat(17_000)}`
  for (const names of [many, long]) {
    const { dkim, asked } = await look(`DKIM-Signature: v=1; d=b.test; s=s; h=${names}\r\n${plain}`, { zone: good })
    t.match(dkim, [{ result: 'policy', domain: 'b.test', reason: 'not verified: signature too long' }])
    t.notOk(asked.some((question) => question.includes('_domainkey')))
    const { arc } = await look(`ARC-Message-Signature: i=1; h=${names}\r\n${plain}`)
    t.same(arc, { result: 'fail', reason: 'field too long' })
  }
  const crowded = plain.replace('A <a@b.test>', 'a@b.test,'.repeat(920))
  await t.rejects(look(crowded), { kind: 'malformed-message', message: /^From of 82\d+ octets/ })
})

t.test('a few unverified signatures are reported, and little of each', async (t) => {
  const one = `DKIM-Signature: v=1; d=${'b'.repeat(9_000)}.test; s=s; h=from\r\n`
  const { dkim } = await look(`${one.repeat(150)}${plain}`, { zone: good })
  t.equal(dkim.length, 20)
  t.ok(dkim.slice(10).every(({ domain }) => domain.length === 255))
})

t.test('a header that cannot be read to its end is refused, and many lines in one field cost little', async (t) => {
  const lines = ' a\r\n'.repeat(200_000)
  const folded = `X-Lines: a\r\n${lines}${plain}`
  t.match((await look(signMessage(folded, key, { domain: 'b.test' }), { zone: good })).dkim, [{ result: 'pass' }])
  const covered = signMessage(folded, key, { domain: 'b.test', names: 'from:x-lines' })
  t.match((await look(covered, { zone: good })).dkim, [{ result: 'fail' }])
  const without = signMessage(plain, key, { domain: 'b.test', names: 'from:subject:reply-to' })
  t.match((await look(without, { zone: good })).dkim, [{ result: 'pass' }])
  const reply = `Reply-To: y@evil.test\r\n${lines}`
  for (const added of [`${reply}${without}`, without.replace('\r\n\r\n', `\r\n${reply}\r\n`)]) {
    t.match((await look(added, { zone: good })).dkim, [{ result: 'fail' }], 'what is taken out counts as added')
  }
  t.match((await look(plain.replace('A <', `A\r\n${' \r\n'.repeat(8_000)} <`))).dmarc, { domain: 'b.test' })
  const endless = look(`X-Lines: a\r\n${lines.repeat(3)}${plain}`)
  await t.rejects(endless, { kind: 'malformed-message', message: /^a header of 24\d+ octets/ })
})

t.test('a large body is hashed in pieces, between which the event loop turns', async (t) => {
  const message = signMessage(`${plain}${'some words \r\n'.repeat(200_000)}`, key, { domain: 'b.test' })
  let turns = 0
  let over = false
  const count = (): void => {
    turns += 1
    if (!over) setImmediate(count)
  }
  count()
  const found = await look(message, { zone: good })
  over = true
  t.match(found.dkim, [{ result: 'pass' }])
  t.ok(turns >= 5, `${turns} turns`)
})

interface DmarcRow {
  readonly record?: string
  readonly zone?: RecordZone
  readonly from?: string
  /** Domain of a signature that passes. */
  readonly signer?: string
  /** Domain of a return path that passes. */
  readonly path?: string
}

async function dmarc({ record = 'p=reject', zone, from = 'a@b.test', signer, path }: DmarcRow): Promise<Found> {
  const message = plain.replace('A <a@b.test>', from)
  return look(signer === undefined ? message : signMessage(message, key, { domain: signer }), {
    zone: {
      '_dmarc.b.test': { TXT: [`v=DMARC1; ${record}`] },
      ...(signer === undefined ? {} : keyAt(signer, key.record)),
      ...(path === undefined ? {} : { [path]: { TXT: ['v=spf1 +all'] } }),
      ...zone,
    },
    connection: { envelopeFrom: path === undefined ? '' : `x@${path}` },
  })
}

t.test('DMARC passes by SPF alone and by DKIM alone, aligned as the record asks', async (t) => {
  const rows: readonly (readonly [DmarcRow, string])[] = [
    [{}, 'fail'],
    [{ path: 'b.test' }, 'pass'],
    [{ path: 'm.b.test' }, 'pass'],
    [{ path: 'm.b.test', record: 'p=reject; aspf=s' }, 'fail'],
    [{ path: 'b.test', record: 'p=reject; aspf=s' }, 'pass'],
    [{ path: 'c.test' }, 'fail'],
    [{ path: 'xb.test' }, 'fail'],
    [{ signer: 'b.test' }, 'pass'],
    [{ signer: 'm.b.test' }, 'pass'],
    [{ signer: 'm.b.test', record: 'p=reject; adkim=s' }, 'fail'],
    [{ signer: 'b.test', record: 'p=reject; adkim=s' }, 'pass'],
    [{ signer: 'c.test' }, 'fail'],
    [{ signer: 'b.test', from: 'a@m.b.test' }, 'pass'],
    [{ signer: 'b.test', from: 'a@m.b.test', record: 'p=reject; adkim=s' }, 'fail'],
    [{ signer: 'n.b.test', from: 'a@m.b.test' }, 'pass'],
  ]
  for (const [row, result] of rows) t.equal((await dmarc(row)).dmarc.result, result, JSON.stringify(row))
})

t.test('the DMARC record is that of the author who is displayed', async (t) => {
  const invisible = ['a@b\u200b.test', 'a@b.te\u00adst', 'a@\ufeffb.test', 'a@\uff42\u3002test', 'A <a@b\u2060.TEST.>']
  const rows = invisible.map((from) => plain.replace('A <a@b.test>', Buffer.from(from).toString('latin1')))
  const zone = { '_dmarc.b.test': { TXT: ['v=DMARC1; p=reject'] } }
  for (const message of [...rows, plain.replace('b.test', 'b\xad.test')]) {
    const raw = Buffer.from(message, 'latin1')
    const shown = summarizeInbound(parsedMessage(raw))
    t.equal(shown.from_email, 'a@b.test')
    t.match((await look(raw, { zone })).dmarc, { result: 'fail', disposition: 'reject' }, message)
  }
})

t.test("the policy is the record's for this domain: p, sp, np, t, not pct", async (t) => {
  const rows: readonly (readonly [DmarcRow, string | null])[] = [
    [{ record: 'p=none' }, 'none'],
    [{ record: 'p=quarantine' }, 'quarantine'],
    [{ record: 'p=reject; pct=0' }, 'reject'],
    [{ record: 'p=reject; t=y' }, 'quarantine'],
    [{ record: 'p=reject; sp=none', from: 'a@m.b.test', zone: { 'm.b.test': {} } }, 'none'],
    [{ record: 'p=none; sp=reject', from: 'a@m.b.test', zone: { 'm.b.test': {} } }, 'reject'],
    [{ record: 'p=none; np=reject', from: 'a@m.b.test' }, 'reject'],
    [{ record: 'p=none; np=reject', from: 'a@m.b.test', zone: { 'm.b.test': {} } }, 'none'],
  ]
  for (const [row, policy] of rows) {
    t.match((await dmarc(row)).dmarc, { result: 'fail', policy, disposition: policy, policyDomain: 'b.test' })
  }
})

t.test('the DNS tree is walked up to the domain that has a record, and not past psd', async (t) => {
  t.match((await dmarc({ from: 'a@x.y.z.b.test' })).dmarc, { result: 'fail', policyDomain: 'b.test' })
  const zone = { '_dmarc.test': { TXT: ['v=DMARC1; p=reject; psd=y'] } }
  t.match((await dmarc({ zone, record: 'p=none', signer: 'c.test' })).dmarc, { result: 'fail', policyDomain: 'b.test' })
})

t.test('the organizational domain is where the walk ends: psd, the longest names, records on the way', async (t) => {
  const at = (domain: string, text: string): RecordZone => ({ [`_dmarc.${domain}`]: { TXT: [`v=DMARC1; ${text}`] } })
  const many = '1.2.3.4.5.6.7.8.b.test'
  const rows: readonly (readonly [what: string, row: DmarcRow, found: object])[] = [
    [
      'the nearest record speaks',
      { from: 'a@m.b.test', zone: at('m.b.test', 'p=none') },
      { policyDomain: 'm.b.test', policy: 'none' },
    ],
    [
      'and does not part what is above it',
      { from: 'a@m.b.test', signer: 'b.test', zone: at('m.b.test', 'p=reject') },
      { result: 'pass' },
    ],
    [
      'psd=n does',
      { from: 'a@m.b.test', signer: 'b.test', zone: at('m.b.test', 'p=reject; psd=n') },
      { result: 'fail' },
    ],
    [
      'below psd=n all is one',
      { from: 'a@x.m.b.test', signer: 'y.m.b.test', zone: at('m.b.test', 'p=reject; psd=n') },
      { result: 'pass' },
    ],
    [
      'below psd=y nothing is',
      { from: 'a@x.b.test', signer: 'y.b.test', record: 'p=reject; psd=y' },
      { result: 'fail' },
    ],
    [
      'but one name below it',
      { from: 'a@x.b.test', signer: 'z.x.b.test', record: 'p=reject; psd=y' },
      { result: 'pass' },
    ],
    ['a name of ten labels', { from: `a@${many}` }, { policyDomain: 'b.test' }],
    [
      'a record nine labels deep is passed over',
      { from: `a@${many}`, zone: { ...at(many.slice(2), 'p=none'), '_dmarc.b.test': {} } },
      { result: 'none' },
    ],
    [
      'one seven labels deep is not',
      { from: `a@${many}`, zone: { ...at(many.slice(6), 'p=none'), '_dmarc.b.test': {} } },
      { policyDomain: many.slice(6) },
    ],
    ['its own record is', { from: `a@${many}`, zone: at(many, 'p=none') }, { policyDomain: many }],
    ['capitals', { from: 'a@B.TEST', signer: 'b.test', record: 'p=reject; adkim=s' }, { result: 'pass' }],
    [
      'two records at the name are none there',
      { from: 'a@m.b.test', zone: { '_dmarc.m.b.test': { TXT: ['v=DMARC1; p=none', 'v=DMARC1; p=none'] } } },
      { policyDomain: 'b.test' },
    ],
    [
      'a fault on the way',
      { from: 'a@m.b.test', zone: { '_dmarc.m.b.test': 'SERVFAIL' } },
      { result: 'temperror', disposition: 'none' },
    ],
    ['a record without p', { record: 'rua=mailto:x@b.test' }, { result: 'fail', policy: 'none' }],
    ['an unknown policy', { record: 'p=maybe; rua=mailto:x@b.test' }, { result: 'fail', policy: 'none' }],
  ]
  for (const [what, row, found] of rows) t.match((await dmarc(row)).dmarc, found, what)
})

t.test('without a record, with two, or with one of another version there is no policy', async (t) => {
  const none = { result: 'none', policy: null, disposition: 'none', domain: 'b.test' }
  t.match((await dmarc({ zone: { '_dmarc.b.test': {} } })).dmarc, none)
  t.match((await dmarc({ zone: { '_dmarc.b.test': { TXT: ['v=DMARC1; p=none', 'v=DMARC1; p=reject'] } } })).dmarc, none)
  t.match((await dmarc({ zone: { '_dmarc.b.test': { TXT: ['v=DMARC2; p=reject'] } } })).dmarc, none)
})

t.test('a DNS fault that may hide a pass is a temperror, any other is not', async (t) => {
  t.match((await dmarc({ zone: { '_dmarc.b.test': 'SERVFAIL' } })).dmarc, { result: 'temperror', disposition: 'none' })
  const broken = (domain: string): DmarcRow => ({ signer: domain, zone: keyAt(domain, 'SERVFAIL') })
  t.match((await dmarc(broken('b.test'))).dmarc, { result: 'temperror', disposition: 'none', policy: 'reject' })
  t.match((await dmarc(broken('c.test'))).dmarc, { result: 'fail', disposition: 'reject' })
  t.match((await dmarc({ path: 'm.b.test', zone: { 'm.b.test': 'SERVFAIL' } })).dmarc, { result: 'temperror' })
  t.match((await dmarc({ path: 'c.test', zone: { 'c.test': 'SERVFAIL' } })).dmarc, { result: 'fail' })
})

/** Nine queries one after the other exceed the time for the message; concurrent ones do not. */
const hurried = { limits: { perQuestion: 150, perMessage: 1_000 }, clock: systemClock }

t.test("silent servers chosen by the sender use up no time of the author's domain", async (t) => {
  let message = plain
  for (let at = 0; at < 9; at += 1) message = signMessage(message, key, { domain: `c${at}.test` })
  const zone: RecordZone = {
    '_dmarc.b.test': { TXT: ['v=DMARC1; p=reject'] },
    'c.test': 'silence',
    ...Object.assign({}, ...Array.from({ length: 9 }, (_, at) => keyAt(`c${at}.test`, 'silence'))),
  }
  const found = await look(message, { zone, ...hurried, connection: { envelopeFrom: 'x@c.test' } })
  t.match(found, { spf: { result: 'temperror' }, dmarc: { result: 'fail', disposition: 'reject' } })
  t.ok(found.dkim.every(({ result }) => result === 'temperror'))
})

t.test('nor do they if domains are written in Unicode', async (t) => {
  const utf8 = (text: string): string => Buffer.from(text).toString('latin1')
  const from = utf8('From: a@b\u00fccher.test\r\nSubject: x\r\n\r\nbody\r\n')
  let message = signMessage(from, key, { domain: utf8('b\u00fccher.test') })
  for (let at = 0; at < 9; at += 1) message = signMessage(message, key, { domain: utf8(`\u00fc${at}.test`) })
  const zone: RecordZone = {
    '_dmarc.xn--bcher-kva.test': { TXT: ['v=DMARC1; p=reject'] },
    ...Object.assign({}, ...Array.from({ length: 9 }, (_, at) => keyAt(domainToASCII(`\u00fc${at}.test`), 'silence'))),
  }
  const found = await look(message, { zone, ...hurried })
  t.match(found.dkim.at(-1), { result: 'permerror', reason: 'no key' })
  t.equal(found.dkim.filter(({ result }) => result === 'temperror').length, 9)
  t.match(found.dmarc, { result: 'fail', disposition: 'reject' })
})

function settings(found: Authentication): readonly string[] {
  return (['reject', 'quarantine', 'report'] as const satisfies readonly DmarcSetting[]).map((setting) => {
    const judged = decideAcceptance(found, setting)
    return judged.kind === 'refuse' ? `${judged.code} ${judged.enhanced}` : judged.kind
  })
}

t.test('the policy of the domain is followed as far as the setting goes', async (t) => {
  t.same(settings(await dmarc({})), ['550 5.7.1', 'spam', 'accept'])
  t.same(settings(await dmarc({ record: 'p=quarantine' })), ['spam', 'spam', 'accept'])
  t.same(settings(await dmarc({ record: 'p=none' })), ['accept', 'accept', 'accept'])
  t.same(settings(await dmarc({ signer: 'b.test' })), ['accept', 'accept', 'accept'])
  t.same(settings(await look(plain)), ['accept', 'accept', 'accept'])
  t.same(settings(await dmarc({ zone: { '_dmarc.b.test': 'SERVFAIL' } })), ['accept', 'accept', 'accept'])
  t.same(settings(await look(plain.replace('From', 'X-From'))), ['accept', 'accept', 'accept'])
})

t.test('two From fields are refused, several author domains are suspicious', async (t) => {
  const two = await look(`From: a@c.test\r\n${plain}`)
  t.match(two, { fromFields: 2, dmarc: { result: 'permerror', reason: 'multiple-from-fields', domain: null } })
  t.same(settings(two), ['550 5.7.1', '550 5.7.1', '550 5.7.1'])
  t.same(settings(await look(`FROM : a@b.test\r\n${plain}`)), ['550 5.7.1', '550 5.7.1', '550 5.7.1'])
  const several = await dmarc({ from: 'a@b.test, c@d.test' })
  t.match(several.dmarc, { result: 'permerror', reason: 'multiple-author-domains' })
  t.same(settings(several), ['spam', 'spam', 'accept'])
  t.match((await dmarc({ from: 'a@b.test, c@b.test' })).dmarc, { result: 'fail' })
})

t.test('DMARC judges the author that is shown', async (t) => {
  const cases: readonly (readonly [from: string, shown: string])[] = [
    ['=?utf-8?B?YWRtaW5AbGVnaXQudGVzdA==?=,<second@b.test>', 'second@b.test'],
    ['admin at legit.test, <second@b.test>', 'second@b.test'],
    ['"admin@legit.test, x" <second@b.test>', 'second@b.test'],
    ['<second@b.test> (admin@legit.test)', 'second@b.test'],
    ['Team: nobody, Ann <second@b.test>;', 'second@b.test'],
    ['Ann <a..b@b.test>', 'a..b@b.test'],
    ['=?utf-8?Q?admin=40legit.test?= <second@B.Test>', 'second@b.test'],
  ]
  const zone: RecordZone = { ...good, '_dmarc.b.test': { TXT: ['v=DMARC1; p=reject'] } }
  for (const [from, shown] of cases) {
    const message = `From: ${from}\r\nSubject: x\r\n\r\nbody\r\n`
    const { dmarc } = await look(signMessage(message, key, { domain: 'b.test' }), { zone })
    t.match(dmarc, { result: 'pass', domain: 'b.test' }, from)
    t.equal(summarizeInbound(parsedMessage(Buffer.from(message))).from_email, shown, from)
  }
})

t.test('a refusal names the domain and nothing that could end its line', async (t) => {
  const found = await dmarc({})
  t.match(decideAcceptance(found, 'reject'), { kind: 'refuse', text: /From in b\.test,/ })
  const hostile = decideAcceptance({ ...found, dmarc: { ...found.dmarc, domain: 'b.test\r\n250 \u00e9' } }, 'reject')
  t.match(hostile, { kind: 'refuse', text: /From in b\.test\?\?250\?\?,/ })
})

async function sealArc(message: string, i: number, cv: string): Promise<string> {
  const seal = await sealMessage(Buffer.from(message, 'latin1'), {
    signingDomain: 'list.test',
    selector: 's',
    privateKey: key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    authResults: 'mx.list.test; spf=pass',
    signTime: new Date(now),
    i,
    cv,
  })
  return `${seal.toString('latin1')}${message}`
}

t.test('an ARC chain passes, fails, is absent, or its keys cannot be looked up', async (t) => {
  const zone = keyAt('list.test', key.record)
  const chain = await sealArc(await sealArc(plain, 1, 'none'), 2, 'pass')
  const arc = async (message: string, records: RecordZone = zone): Promise<unknown> =>
    (await look(message, { zone: records })).arc
  t.same(await arc(chain), { result: 'pass', reason: null })
  t.same(await arc(plain), { result: 'none', reason: null })
  t.match(await arc(chain.replace('body', 'b0dy')), { result: 'fail' })
  t.match(await arc(chain.replace('spf=pass', 'spf=fail')), { result: 'fail' })
  t.match(await arc(chain, {}), { result: 'fail' })
  t.match(await arc(chain, keyAt('list.test', 'SERVFAIL')), { result: 'temperror' })
  t.match(await arc(await sealArc(plain, 1, 'fail')), { result: 'fail' })
})

t.test('a malformed ARC tag list fails', async (t) => {
  const zone = keyAt('list.test', key.record)
  const chain = await sealArc(plain, 1, 'none')
  const seals = [
    chain.replace(/^(ARC-Seal: i=1;)/m, '$1 i=1;'),
    chain.replace(/^(ARC-Seal: )i=1;/m, '$1I=1;'),
    chain.replace(/^(ARC-Seal: i=1;)/m, '$1 =x;'),
    chain.replace(/^(ARC-Seal: )i=1;/m, '$1i=51;'),
    chain.replace(/^ARC-Seal:.*\r\n(?: .*\r\n)*/m, ''),
    `ARC-Seal: nothing\r\n${plain}`,
  ]
  for (const message of seals) {
    t.not(message, chain)
    t.match((await look(message, { zone })).arc, { result: 'fail' })
  }
})

const reverse = '1.2.0.192.in-addr.arpa'

t.test("the client's name is one that resolves back to its address", async (t) => {
  const iprev = async (zone: RecordZone, clientAddress = '192.0.2.1'): Promise<unknown> =>
    (await look(plain, { zone, connection: { clientAddress } })).iprev
  const there = { [reverse]: { PTR: ['x.test', 'h.test'] }, 'h.test': { A: ['192.0.2.1'] } }
  t.same(await iprev(there), { result: 'pass', name: 'h.test' })
  t.same(await iprev(there, '::ffff:192.0.2.1'), { result: 'pass', name: 'h.test' })
  t.same(await iprev({ [reverse]: { PTR: ['h.test'] }, 'h.test': { A: ['192.0.2.2'] } }), {
    result: 'fail',
    name: null,
  })
  t.same(await iprev({}), { result: 'permerror', name: null })
  t.same(await iprev({ [reverse]: 'SERVFAIL' }), { result: 'temperror', name: null })
  t.same(await iprev({ [reverse]: { PTR: ['h.test'] }, 'h.test': 'SERVFAIL' }), { result: 'temperror', name: null })
  t.same(await iprev({}, 'nonsense'), { result: 'permerror', name: null })
  const nibbles = `1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`
  const zone = { [nibbles]: { PTR: ['h.test'] }, 'h.test': { AAAA: ['2001:db8::1'] } }
  t.same(await iprev(zone, '2001:db8::1'), { result: 'pass', name: 'h.test' })
})

t.test('the summarized results are those of the interface', async (t) => {
  const words = ['pass', 'fail', 'softfail', 'neutral', 'none', 'temperror', 'permerror'] as const
  const found = await dmarc({ signer: 'b.test' })
  const folded = words.map((result) => summarizeResults({ ...found, spf: { ...found.spf, result } }).spf_result)
  t.same(folded, ['pass', 'fail', 'neutral', 'neutral', 'neutral', 'neutral', 'neutral'])
  t.match(summarizeResults(found), { dkim_result: 'pass', dmarc_result: 'pass' })
  const [first] = found.dkim
  const mixed = [
    { ...first, result: 'permerror' },
    { ...first, result: 'fail' },
  ] as Authentication['dkim']
  t.equal(summarizeResults({ ...found, dkim: mixed }).dkim_result, 'fail')
})

t.test('the two header fields report the results, beginning with our name', async (t) => {
  const zone = { [reverse]: { PTR: ['h.test'] }, 'h.test': { A: ['192.0.2.1'] } }
  const found = await dmarc({ signer: 'b.test', path: 'b.test', zone: { ...zone, ...good } })
  const connection = { ...hereby, envelopeFrom: 'x@b.test' }
  t.equal(
    formatAuthenticationResults(found, connection).replaceAll('\r\n ', ' '),
    'mx.test; spf=pass reason="domain of x@b.test designates 192.0.2.1 as permitted sender"' +
      ' smtp.mailfrom=b.test; dkim=pass header.d=b.test header.s=s; dmarc=pass header.from=b.test policy.dmarc=reject;' +
      ' arc=none; iprev=pass (h.test) policy.iprev=192.0.2.1',
  )
  t.equal(
    formatReceivedSpf(found, connection).replaceAll('\r\n ', ' '),
    'pass (domain of x@b.test designates 192.0.2.1 as permitted sender) receiver=mx.test;' +
      ' identity=mailfrom; client-ip=192.0.2.1; helo=h.test; envelope-from="x@b.test";',
  )
  const bounce = await look(plain)
  t.match(formatAuthenticationResults(bounce, hereby), 'smtp.helo=h.test;\r\n dkim=none;')
  t.match(formatReceivedSpf(bounce, hereby), /identity=helo;[\s\S]*helo=h\.test;$/)
})

t.test('no untrusted value breaks out of its field', async (t) => {
  const anything = fc.string({ unit: 'binary', maxLength: 500 })
  const found = await dmarc({ signer: 'b.test' })
  fc.assert(
    fc.property(anything, anything, (text, other) => {
      const connection = { clientAddress: text, helo: other, envelopeFrom: text, hostname: 'mx.test' }
      const bad: Authentication = {
        ...found,
        spf: { ...found.spf, domain: text, reason: other },
        dkim: [{ result: 'fail', domain: text, selector: other, reason: text }],
        dmarc: { ...found.dmarc, domain: other, reason: text },
        iprev: { result: 'pass', name: text },
      }
      for (const field of [formatAuthenticationResults(bad, connection), formatReceivedSpf(bad, connection)]) {
        const lines = field.split('\r\n')
        if (!lines.slice(1).every((line) => line.startsWith(' '))) return false
        if (!lines.every((line) => /^[\x20-\x7e]*$/.test(line) && line.length < 998)) return false
        const bare = lines
          .join('')
          .replace(/\\./g, '')
          .replace(/"[^"]*"/g, '')
          .replace(/\([^()]*\)/g, '')
        if (/["()]/.test(bare)) return false
      }
      return true
    }),
  )
  t.pass('every field stayed one field')
})

t.test('through a real resolver and UDP: passes, and a fault that is no failure', async (t) => {
  const zone: Readonly<Record<string, DnsRecord>> = {
    'TXT b.test': { type: 'TXT', ttl: 60, strings: ['v=spf1 a:', 'h.test -all'] },
    'A h.test': { type: 'A', ttl: 60, value: '192.0.2.1' },
    [`PTR ${reverse}`]: { type: 'PTR', ttl: 60, value: 'h.test' },
    'TXT s._domainkey.b.test': { type: 'TXT', ttl: 60, strings: [key.record.slice(0, 99), key.record.slice(99)] },
    'TXT _dmarc.b.test': { type: 'TXT', ttl: 60, strings: ['v=DMARC1; p=reject; adkim=s; aspf=s'] },
  }
  const server = await dnsServer((question) => {
    const found = zone[question]
    if (found !== undefined) return [found]
    return /[ .]c\.test$/.test(question) ? 'SERVFAIL' : 'NXDOMAIN'
  })
  t.teardown(() => server.close())
  const settings = { ...defaultResolverSettings, servers: dnsServers(server.address), timeout: 500, tries: 1 }
  const resolver = openResolver(settings, () => now, new AbortController().signal)
  const at = async (domain: string): Promise<Authentication> => {
    const message = signMessage(plain.replace('b.test', domain), key, { domain })
    return authenticate(
      Buffer.from(message),
      { ...hereby, envelopeFrom: `x@${domain}` },
      { resolver, clock: () => now },
    )
  }
  const words = ({ spf, dkim, dmarc, iprev }: Authentication): readonly string[] =>
    [spf, ...dkim, dmarc, iprev].map(({ result }) => result)
  t.same(words(await at('b.test')), ['pass', 'pass', 'pass', 'pass'])
  t.same(words(await at('c.test')), ['temperror', 'temperror', 'temperror', 'pass'])
  t.same(words(await at('d.test')), ['none', 'permerror', 'none', 'pass'])
})

t.test('queries of a check are limited, and cached answers cost nothing', async (t) => {
  const zone = recordZone({ 'a.test': { A: ['192.0.2.1'] } })
  const questions = new MessageQueries(zone, { perQuery: 1_000, perMessage: 1_000 }, () => now)
  const ask = questions.createResolver(2)
  t.same(await ask('a.test', 'A'), ['192.0.2.1'])
  await t.rejects(ask('b.test', 'A'), { code: 'ENOTFOUND' })
  await t.rejects(ask('c.test', 'A'), { code: 'ELOOKUPLIMIT' })
  t.same(await ask('A.test', 'A'), ['192.0.2.1'])
  await t.rejects(questions.createResolver(0)('b.test', 'A'), { code: 'ENOTFOUND' })
  t.same(zone.asked, ['A a.test', 'A b.test'])
})

t.test('after the time limit of the message nothing is queried', async (t) => {
  let at = now
  const zone = recordZone({ 'a.test': { A: ['192.0.2.1'] } })
  const ask = new MessageQueries(zone, { perQuery: 1_000, perMessage: 1_000 }, () => at).createResolver(9)
  at += 1_000
  await t.rejects(ask('a.test', 'A'), { code: 'ETIMEOUT' })
  t.same(zone.asked, [])
})

t.test('no header makes it throw', async (t) => {
  const zone = { ...good, '_dmarc.b.test': { TXT: ['v=DMARC1; p=reject'] } }
  const pieces = fc.constantFrom(
    ...[
      'DKIM-Signature:',
      'ARC-Seal:',
      'ARC-Message-Signature:',
      'ARC-Authentication-Results:',
      'From:',
      'Content-Type:',
    ],
    ...[
      ' v=1;',
      ' a=rsa-sha256;',
      ' d=b.test;',
      ' s=s;',
      ' h=from;',
      ' bh=',
      ' b=',
      ' c=simple/simple;',
      ' i=1;',
      ' cv=none;',
      ' l=0;',
      ' t=9e99;',
    ],
    ...[
      '\r\n',
      '\r\n ',
      '\n',
      '\r',
      ':',
      ';',
      '=',
      '@',
      '<',
      '>',
      '"',
      '(',
      '\\',
      '[',
      ',',
      '\0',
      '\xff',
      '=?utf-8?q?',
      'a@b.test',
    ],
  )
  const hostile = fc.array(fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 8 })), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(hostile, fc.string({ maxLength: 20 }), async (parts, word) => {
      const raw = Buffer.from(parts.join(''), 'latin1')
      const found = await look(raw, { zone, connection: { helo: word, envelopeFrom: word } })
      return formatAuthenticationResults(found, hereby).startsWith('mx.test;')
    }),
    { numRuns: 300 },
  )
  t.pass('nothing was thrown')
})
