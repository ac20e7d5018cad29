/** Decisions of domain verification: found records against required ones, grace period, pace, rotation. */
import fc from 'fast-check'
import t from 'tap'
import type { Config } from '../../../src/base/config/complete.js'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { holdsKey, parsePublicKey } from '../../../src/workspaces/domains/dkim/key-record.js'
import { decideRotationStep, findIdleSelector } from '../../../src/workspaces/domains/dkim/rotation-step.js'
import type { DkimKeyRow } from '../../../src/workspaces/domains/dkim/signing-keys.js'
import { buildRotationDeps } from '../../../src/workspaces/domains/domain-resolver.js'
import type { SendingDomain } from '../../../src/workspaces/domains/rows/sending-domains.js'
import {
  decideCheckOutcome,
  GRACE_PERIOD,
  nextCheckAt,
} from '../../../src/workspaces/domains/verification/check-outcome.js'
import {
  judgeDmarc,
  judgeInboundMx,
  judgePolicyHost,
  judgeRecords,
  mxPointsToUs,
  type RecordVerdict,
  spfAuthorizesUs,
  verdictOf,
} from '../../../src/workspaces/domains/verification/judge-records.js'
import { lookUpRecords } from '../../../src/workspaces/domains/verification/look-up-records.js'
import { CheckLimiter } from '../../../src/workspaces/domains/verify-domain.js'
import { type Zone, zoneResolver } from '../../helpers/dns/zone-resolver.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const key = (letter: string): string => `v=DKIM1; k=rsa; p=${letter.repeat(40)}`

const row: SendingDomain = {
  id: '019a0000-0000-7abc-8def-aabbccddeeff',
  workspace_id: 'ws_1',
  domain: parseDomainName('a.test'),
  status: 'pending',
  forced: 0,
  inbound: 0,
  track_opens: 0,
  track_clicks: 0,
  created_at: 0,
  verified_at: null,
  record_states: toJson({}),
  checked_at: null,
  next_check_at: 0,
  unproved_since: 0,
  rotation_asked_at: null,
  inbound_policy: toJson({}),
}
const keyRow = (selector: string, letter: string, more: Partial<DkimKeyRow> = {}): DkimKeyRow => ({
  id: selector,
  workspace_id: 'ws_1',
  domain: parseDomainName('a.test'),
  selector,
  private_key: '',
  public_record: key(letter),
  signing: selector === 'dkim1' ? 1 : 0,
  created_at: 0,
  usable_at: 0,
  retired_at: null,
  ...more,
})
const keys = [keyRow('dkim1', 'A'), keyRow('dkim2', 'B')]
const names = { zone: 'zone.test', inbound_mx_host: 'mx.zone.test' }
const label = '7abc8defaabbccddeeff'
const target = (selector: string, of = label): string => `${selector}.${of}._domainkey.zone.test`
const host = 'posthorn.a.test'
const name = (selector: string): string => `${selector}._domainkey.a.test`

t.test('a key record counts when a verifier would use it and it holds the key', (t) => {
  const p = Buffer.alloc(294, 7).toString('base64')
  const own = `v=DKIM1; k=rsa; p=${p}`
  const folded = p.replace(/(.{60})/g, '$1 \t')
  for (const texts of [
    [own],
    [`p=${p}`],
    [`p=${p};`],
    [`v=DKIM1;p=${folded}`],
    [`v=DKIM1; h=sha1:sha256; s=email; t=s:y; n=a note; k=rsa; p=${p}; `],
    [`p=${p}; x=unknown; s=*`],
    ['google-site-verification=abc', own],
    [own, `k=rsa; p=${p}`],
  ]) {
    t.ok(holdsKey(texts, own), texts.join(' | ').slice(0, 60))
  }
  for (const texts of [
    [],
    [''],
    ['v=DKIM1; k=rsa; p='],
    [`v=DKIM2; p=${p}`],
    [`p=${p}; v=DKIM1`],
    [`v=DKIM1; k=ed25519; p=${p}`],
    [`v=DKIM1; h=sha1; p=${p}`],
    [`v=DKIM1; s=tlsrpt; p=${p}`],
    [`v=DKIM1; p=${p.slice(0, -4)}`],
    [`v=DKIM1; p=${p}; p=${p}`],
    [`v=DKIM1; p=${p.replace('B', '!')}`],
    [`v=DKIM1 p=${p}`],
    [`"v=DKIM1; p=${p}"`],
    [own, `v=DKIM1; p=${p.replace('B', 'C')}`],
    [own, 'v=DKIM1; p='],
    Array.from({ length: 30 }, () => own),
    [`${own}; n=${'x'.repeat(5000)}`],
  ]) {
    t.notOk(holdsKey(texts, own), texts.join(' | ').slice(0, 60))
  }
  t.end()
})

t.test('no foreign text breaks the comparison, and no different text passes for the key', (t) => {
  const bytes = fc.uint8Array({ minLength: 40, maxLength: 300 })
  const blanks = fc.array(fc.constantFrom(' ', '\t', '\r\n ', ''), { minLength: 1, maxLength: 20 })
  const spread = (text: string, gaps: readonly string[]): string =>
    [...text].map((letter, at) => letter + (at % 17 === 0 ? (gaps[at % gaps.length] ?? '') : '')).join('')
  fc.assert(
    fc.property(bytes, blanks, (made, gaps) => {
      const p = Buffer.from(made).toString('base64')
      return holdsKey([`k=rsa ; p= ${spread(p, gaps)} ;n=x`], `v=DKIM1; k=rsa; p=${p}`)
    }),
  )
  fc.assert(
    fc.property(bytes, bytes, (one, other) => {
      const [a, b] = [one, other].map((made) => Buffer.from(made).toString('base64'))
      return a === b || !holdsKey([`v=DKIM1; p=${a}`], `v=DKIM1; p=${b}`)
    }),
  )
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 200 })), (texts) => {
      for (const text of texts) parsePublicKey(text)
      return !holdsKey(texts, key('A'))
    }),
  )
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...';= vpkDKIM1'), maxLength: 3000 }),
      (text) => !holdsKey([text], key('A')),
    ),
  )
  t.end()
})

t.test("a mail host with the owner's own records passes if they have the effect of ours", (t) => {
  const spf = 'v=spf1 ip4:192.0.2.1 ip6:2001:db8::1 -all'
  const expected = { target: 'mail.zone.test', inboundMxHost: 'mx.zone.test', addresses: ['192.0.2.1'], txt: [spf] }
  const mx = (...records: readonly (readonly [number, string])[]) => ({
    mx: records.map(([preference, exchange]) => ({ preference, exchange })),
    addresses: [] as readonly string[],
    txt: [],
  })
  t.ok(mxPointsToUs(mx([10, 'MX.zone.test']), expected))
  t.ok(mxPointsToUs(mx([10, 'mail.zone.test'], [20, 'backup.test']), expected))
  t.notOk(mxPointsToUs(mx([10, 'mx.zone.test'], [5, 'first.test']), expected))
  t.notOk(mxPointsToUs(mx([10, 'mx.zone.test'], [10, 'other.test']), expected))
  t.notOk(mxPointsToUs(mx([0, '']), expected))
  t.ok(mxPointsToUs({ ...mx(), addresses: ['192.0.2.1'] }, expected), 'without MX the addresses count')
  t.notOk(mxPointsToUs({ ...mx(), addresses: ['192.0.2.1', '192.0.2.9'] }, expected))
  t.notOk(mxPointsToUs(mx(), expected))
  for (const txt of [
    [spf],
    ['V=SPF1  ip6:2001:db8::1 ip4:192.0.2.1  -all'],
    ['v=spf1 include:mail.zone.test ~all'],
    ['v=spf1 a mx +include:MAIL.zone.test ?all'],
    ['v=spf1 redirect=mail.zone.test'],
    ['something else', spf],
  ]) {
    t.ok(spfAuthorizesUs({ txt }, expected), txt.join(' | '))
  }
  for (const txt of [
    [],
    ['v=spf1 -all'],
    ['v=spf10 include:mail.zone.test'],
    ['v=spf1 ip4:192.0.2.1 -all'],
    ['v=spf1 -include:mail.zone.test ~all'],
    ['v=spf1 -all include:mail.zone.test'],
    ['v=spf1 redirect=mail.zone.test -all'],
    ['v=spf1 include:evil.mail.zone.test -all'],
    ['v=spf1 -all ip4:192.0.2.1 ip6:2001:db8::1'],
    [spf, spf],
  ]) {
    t.notOk(spfAuthorizesUs({ txt }, expected), txt.join(' | '))
  }
  t.notOk(spfAuthorizesUs({ txt: [] }, { ...expected, txt: [] }), 'nothing is not equal to nothing')
  t.end()
})

const cnames: Zone = {
  [host]: { CNAME: ['mail.zone.test'] },
  [name('dkim1')]: { CNAME: [target('dkim1')], TXT: [key('A')] },
  [name('dkim2')]: { CNAME: [target('dkim2')], TXT: [key('B')] },
}
const byHand: Zone = {
  [host]: { mx: [[10, 'mx.zone.test']], TXT: ['v=spf1 include:mail.zone.test -all'] },
  [name('dkim1')]: { TXT: [key('A')] },
  [name('dkim2')]: { TXT: ['other', key('B')] },
}
const ourZone: Zone = { 'mail.zone.test': { TXT: ['v=spf1 ip4:192.0.2.1 -all'], addresses: ['192.0.2.1'] } }
const strange = target('dkim1', 'ffffffffffffffffffff')

const cases: readonly (readonly [string, Zone, RecordVerdict, (string | null)[]])[] = [
  ['CNAMEs', cnames, 'proved', ['mail.zone.test', target('dkim1'), target('dkim2')]],
  [
    'CNAMEs, while our zone says nothing',
    {
      ...cnames,
      [name('dkim1')]: { CNAME: [target('dkim1')] },
      [name('dkim2')]: { CNAME: [target('dkim2')], TXT: 'failure' },
    },
    'proved',
    ['mail.zone.test', target('dkim1'), target('dkim2')],
  ],
  [
    'records by hand',
    byHand,
    'proved',
    ['10 mx.zone.test., v=spf1 include:mail.zone.test -all', key('A'), `other, ${key('B')}`],
  ],
  [
    'flattened',
    { ...byHand, ...ourZone, [host]: { addresses: ['192.0.2.1'], TXT: ['v=spf1 ip4:192.0.2.1 -all'] } },
    'proved',
    ['v=spf1 ip4:192.0.2.1 -all, 192.0.2.1', key('A'), `other, ${key('B')}`],
  ],
  [
    'a CNAME by a detour',
    { ...cnames, [name('dkim1')]: { CNAME: ['x.a.test'], TXT: [key('A')] } },
    'proved',
    ['mail.zone.test', 'x.a.test', target('dkim2')],
  ],
  ['nothing', {}, 'domain-not-proved', [null, null, null]],
  ['no mail host', { ...cnames, [host]: {} }, 'spf-not-proved', [null, target('dkim1'), target('dkim2')]],
  [
    'a mail host elsewhere',
    { ...cnames, [host]: { CNAME: ['other.test'], mx: 'failure', TXT: 'failure' } },
    'spf-not-proved',
    ['other.test', target('dkim1'), target('dkim2')],
  ],
  [
    'a mail host without SPF',
    { ...byHand, [host]: { mx: [[10, 'mx.zone.test']] } },
    'spf-not-proved',
    ['10 mx.zone.test.', key('A'), `other, ${key('B')}`],
  ],
  ['no second key', { ...cnames, [name('dkim2')]: {} }, 'dkim-not-proved', ['mail.zone.test', target('dkim1'), null]],
  [
    'the label of another registration',
    { ...cnames, [name('dkim1')]: { CNAME: [strange], TXT: [key('C')] } },
    'dkim-not-proved',
    ['mail.zone.test', strange, target('dkim2')],
  ],
  [
    'that label, with no answer behind it',
    { ...cnames, [name('dkim1')]: { CNAME: [strange], TXT: 'failure' } },
    'dkim-not-proved',
    ['mail.zone.test', strange, target('dkim2')],
  ],
  [
    'the keys exchanged',
    { ...cnames, [name('dkim1')]: { TXT: [key('B')] } },
    'dkim-not-proved',
    ['mail.zone.test', key('B'), target('dkim2')],
  ],
  ['only a mail host', { [host]: { CNAME: ['mail.zone.test'] } }, 'dkim-not-proved', ['mail.zone.test', null, null]],
  [
    'only keys',
    { ...cnames, [host]: { CNAME: ['x.test'] }, [name('dkim1')]: {} },
    'domain-not-proved',
    ['x.test', null, target('dkim2')],
  ],
  [
    'no answer for a key',
    { ...cnames, [name('dkim1')]: 'failure' },
    'no-answer',
    ['mail.zone.test', null, target('dkim2')],
  ],
  [
    'no answer for a key, another is wrong',
    { ...cnames, [name('dkim1')]: 'failure', [name('dkim2')]: {} },
    'no-answer',
    ['mail.zone.test', null, null],
  ],
  [
    'no answer for the mail host',
    { ...cnames, [host]: 'failure' },
    'no-answer',
    [null, target('dkim1'), target('dkim2')],
  ],
  [
    'half an answer for the mail host',
    { ...byHand, [host]: { mx: [[10, 'mx.zone.test']], TXT: 'failure' } },
    'no-answer',
    ['10 mx.zone.test.', key('A'), `other, ${key('B')}`],
  ],
  [
    'another host, and no answer for our own names',
    { ...cnames, [host]: { addresses: ['192.0.2.99'] }, 'mail.zone.test': 'failure' },
    'spf-not-proved',
    ['192.0.2.99', target('dkim1'), target('dkim2')],
  ],
  [
    'a text that may be ours, and no answer for our own names',
    { ...byHand, [host]: { addresses: ['192.0.2.99'], TXT: ['v=spf1 -all'] }, 'mail.zone.test': 'failure' },
    'no-answer',
    ['v=spf1 -all, 192.0.2.99', key('A'), `other, ${key('B')}`],
  ],
  [
    'what would steer a terminal',
    { ...cnames, [name('dkim1')]: { TXT: ['\u001b[2J\u00e9'] } },
    'dkim-not-proved',
    ['mail.zone.test', '?[2J?', target('dkim2')],
  ],
]

t.test('the records found in DNS decide about the domain', async (t) => {
  for (const [what, zone, verdict, found] of cases) {
    const findings = judgeRecords(await lookUpRecords(zoneResolver(zone), row, names), row, keys, names)
    t.same([verdictOf(findings), findings.map((one) => one.found)], [verdict, found], what)
  }
})

t.test('a domain costs few queries, and fewer if the CNAMEs are right', async (t) => {
  for (const [zone, most] of [
    [cnames, 6],
    [{}, 6],
    [byHand, 11],
  ] as const) {
    const ask = zoneResolver(zone)
    await lookUpRecords(ask, row, names)
    t.ok(ask.asked.length <= most, String(ask.asked.length))
  }
  const ask = zoneResolver(cnames)
  await lookUpRecords(ask, { ...row, inbound: 1 }, names)
  t.ok(ask.asked.includes('MX a.test'), 'the MX only where mail is taken in')
})

t.test('a key that a rotation has added may be missing in a verified domain, and in no other', async (t) => {
  const zone = { ...byHand, [name('dkim2')]: { TXT: [key('Z')] } }
  const answers = await lookUpRecords(zoneResolver(zone), row, names)
  const verdict = (status: SendingDomain['status'], more: Partial<DkimKeyRow>): RecordVerdict =>
    verdictOf(judgeRecords(answers, { ...row, status }, [keyRow('dkim1', 'A'), keyRow('dkim2', 'B', more)], names))
  t.equal(verdict('verified', { usable_at: 5 }), 'proved')
  t.equal(verdict('failed', { usable_at: 5 }), 'dkim-not-proved')
  t.equal(verdict('verified', {}), 'dkim-not-proved')
  t.equal(verdict('verified', { usable_at: 5, signing: 1 }), 'dkim-not-proved')
  t.equal(verdict('verified', { usable_at: 5, retired_at: 6 }), 'dkim-not-proved')
})

t.test('the records that are only recommended', (t) => {
  const of = <T>(first: T) => ({ kind: 'records', records: [first] }) as const
  const failure = { kind: 'failure', detail: 'SERVFAIL' } as const
  t.equal(judgeInboundMx(null, 'mx.zone.test'), null)
  t.equal(judgeInboundMx(failure, 'mx.zone.test'), null)
  t.equal(judgeInboundMx({ kind: 'no-data' }, 'mx.zone.test'), 'failed')
  t.equal(judgeInboundMx(of({ preference: 50, exchange: 'MX.zone.test' }), 'mx.zone.test'), 'verified')
  t.equal(judgeInboundMx(of({ preference: 10, exchange: 'x.test' }), 'mx.zone.test'), 'failed')
  t.equal(judgePolicyHost(null, 'zone.test'), null)
  t.equal(judgePolicyHost(failure, 'zone.test'), null)
  t.equal(judgePolicyHost({ kind: 'no-domain' }, 'zone.test'), 'pending')
  t.equal(judgePolicyHost(of('MTA-STS.zone.test'), 'zone.test'), 'verified')
  t.equal(judgePolicyHost(of('mta-sts.other.test'), 'zone.test'), 'pending')
  t.equal(judgeDmarc(failure), null)
  t.equal(judgeDmarc({ kind: 'no-domain' }), 'pending')
  t.equal(judgeDmarc(of('v=DMARC1; p=reject')), 'verified')
  t.equal(judgeDmarc(of('v=DMARC12; p=reject')), 'pending')
  t.end()
})

const half = (): number => 0.5
const check = (verdict: RecordVerdict, asked = false) => ({
  verdict,
  findings: [],
  mx: null,
  dmarc: null,
  policyHost: null,
  onDemand: asked,
})
const after = (more: Partial<SendingDomain>, verdict: RecordVerdict, now: number, asked = false) =>
  decideCheckOutcome({ ...row, ...more }, check(verdict, asked), now, half)

t.test('what a check changes', (t) => {
  const wrong = 'dkim-not-proved'
  const verified = { status: 'verified', unproved_since: null, verified_at: 5 } as const
  const now = 100 * DAY
  for (const [before, verdict, asked, status, since, event] of [
    [{}, 'proved', true, 'verified', null, 'domain.verified'],
    [{}, 'proved', false, 'verified', null, 'domain.verified'],
    [{}, wrong, true, 'failed', now, 'domain.failed'],
    [{}, wrong, false, 'pending', 0, null],
    [{ status: 'failed', unproved_since: 7 }, wrong, false, 'failed', 7, null],
    [{ status: 'failed', unproved_since: 7 }, wrong, true, 'failed', now, null],
    [{ status: 'failed', unproved_since: 7 }, 'proved', false, 'verified', null, 'domain.verified'],
    [verified, 'proved', true, 'verified', null, null],
    [verified, wrong, true, 'verified', now, 'domain.broken'],
    [verified, wrong, false, 'verified', now, 'domain.broken'],
    [{ ...verified, unproved_since: now - 5 }, wrong, true, 'verified', now - 5, null],
    [{ ...verified, unproved_since: now - 5 }, 'proved', false, 'verified', null, null],
    [{ ...verified, unproved_since: now - GRACE_PERIOD + 1 }, wrong, false, 'verified', now - GRACE_PERIOD + 1, null],
    [{ ...verified, unproved_since: now - GRACE_PERIOD }, wrong, true, 'failed', now, 'domain.failed'],
    [{ ...verified, unproved_since: now - 9 * GRACE_PERIOD }, 'proved', false, 'verified', null, null],
    [{ ...verified, forced: 1 }, wrong, true, 'verified', null, null],
    [{ ...verified, forced: 1 }, wrong, false, 'verified', null, null],
  ] as const) {
    const outcome = after(before, verdict, now, asked)
    t.match(
      outcome,
      { event, row: { status, unproved_since: since, checked_at: now } },
      JSON.stringify([before, verdict]),
    )
    const at = status !== 'verified' ? null : 'verified_at' in before ? 5 : now
    t.equal(outcome.row.verified_at, at)
  }
  t.end()
})

t.test('a check without an answer changes only the time of the next check, which keeps its pace', (t) => {
  const now = 100 * DAY
  const verified = { status: 'verified', unproved_since: null, verified_at: 5 } as const
  const soon = now + 0.95 * HOUR
  for (const [before, next] of [
    [verified, soon],
    [{ ...verified, unproved_since: now - 9 * GRACE_PERIOD }, soon],
    [{ unproved_since: now - DAY }, soon],
    [{ status: 'failed', unproved_since: now - DAY }, soon],
    [{ unproved_since: now - 4 * DAY }, now + 0.95 * DAY],
    [{ unproved_since: now - 33 * DAY }, null],
    [{ next_check_at: null }, null],
  ] as const) {
    const outcome = after(before, 'no-answer', now, true)
    t.same(outcome, { event: null, row: { ...row, ...before, next_check_at: next } }, JSON.stringify(before))
  }
  t.end()
})

t.test('the next check is hourly, daily or never, and spread over time', (t) => {
  const at = (more: Partial<SendingDomain>, now: number, random = half): number | null =>
    nextCheckAt({ ...row, ...more }, now, random)
  const verified = { status: 'verified', unproved_since: null } as const
  t.equal(at(verified, 0), 0.95 * DAY)
  t.equal(
    at(verified, 0, () => 0),
    DAY,
  )
  t.equal(
    at(verified, 0, () => 0.999),
    Math.round(DAY * (1 - 0.0999)),
  )
  t.equal(at({ ...verified, forced: 1 }, 0), null)
  t.equal(at({ ...verified, rotation_asked_at: 5 }, 0), 0.95 * HOUR)
  t.equal(at({ ...verified, forced: 1, rotation_asked_at: 5 }, 0), 0.95 * HOUR)
  t.equal(at({ ...verified, unproved_since: 0 }, HOUR), 1.95 * HOUR, 'in its grace')
  t.equal(at({ ...verified, unproved_since: 0 }, GRACE_PERIOD - 60_000), GRACE_PERIOD, 'at the end of its grace')
  for (const status of ['pending', 'failed'] as const) {
    t.equal(at({ status }, 2 * DAY), 2 * DAY + 0.95 * HOUR)
    t.equal(at({ status }, 3 * DAY), Math.round(3.95 * DAY))
    t.equal(at({ status }, 32 * DAY), Math.round(32.95 * DAY))
    t.equal(at({ status }, 33 * DAY), null)
  }
  t.end()
})

t.test('rotation to the other key', (t) => {
  const now = 100 * DAY
  const retirementTime = 7 * DAY
  const step = (idle: Partial<DkimKeyRow> | null, visible = false) =>
    decideRotationStep({
      keys: [keyRow('dkim1', 'A'), ...(idle === null ? [] : [keyRow('dkim2', 'B', idle)])],
      retirementTime,
      visible,
      now,
    })
  const selector = 'dkim2'
  t.same(step({}), { kind: 'unseen', selector })
  t.same(step({}, true), { kind: 'switch', selector })
  t.same(step({ retired_at: now - DAY }, true), { kind: 'retiring', selector, until: now + 6 * DAY })
  t.same(step({ retired_at: now - retirementTime }, true), { kind: 'replace', selector })
  t.same(step(null, true), { kind: 'replace', selector })
  t.same(step({ usable_at: now + 1 }, true), { kind: 'settling', selector, until: now + 1 })
  t.same(step({ usable_at: now }, true), { kind: 'switch', selector })
  t.same(step({ usable_at: now }), { kind: 'unseen', selector })
  const imported = keyRow('old', 'C', { signing: 1 })
  const rested = (one: number | null, other: number | null): string =>
    findIdleSelector([
      keyRow('dkim1', 'A', { signing: 0, retired_at: one }),
      keyRow('dkim2', 'B', { retired_at: other }),
      imported,
    ])
  t.same([rested(5, null), rested(null, 5), rested(5, 6), rested(6, 5)], ['dkim2', 'dkim1', 'dkim1', 'dkim2'])
  t.end()
})

t.test('how long a retired key stays follows a reload, also through a copy of the dependencies', (t) => {
  const outbound = { expire_after: DAY }
  const config = { service: {}, dns: { ttl: 0 } } as unknown as Config
  const { retirementTime } = buildRotationDeps(config, () => outbound.expire_after, {} as never)
  t.equal(retirementTime(), 4 * DAY)
  outbound.expire_after = 2 * DAY
  t.equal(retirementTime(), 5 * DAY)
  t.end()
})

t.test('sixty checks of a domain in a minute', (t) => {
  const limiter = new CheckLimiter()
  for (let n = 0; n < 60; n += 1) limiter.count('one', 1000 + n)
  t.throws(() => limiter.count('one', 2000), {
    name: 'Refusal',
    kind: 'rate-limited',
    details: { limit: 60, retry_after: 59 },
  })
  limiter.count('other', 2000)
  limiter.count('one', 61_000)
  t.throws(() => limiter.count('one', 61_000), { name: 'Refusal', kind: 'rate-limited' })
  limiter.count('one', 500)
  t.end()
})
