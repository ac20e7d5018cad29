import t from 'tap'
import type { JudgedLookup } from '../../../../src/base/platform/dns/resolver.js'
import { findDane } from '../../../../src/outbound/delivery/transport-security/dane-lookup.js'

type Answer = JudgedLookup<string>

const found = (isAuthentic: boolean, text: string, alias: string | null = null): Answer => ({
  lookup: { kind: 'records', records: [text] },
  isAuthentic,
  alias,
})
const failed: Answer = { lookup: { kind: 'failure', detail: 'SERVFAIL' }, isAuthentic: false, alias: null }
const nothing: Answer = { lookup: { kind: 'no-data' }, isAuthentic: true, alias: null }
const tlsa = `3 1 1 ${'ab'.repeat(32)}`

/** What is not in `answers` has no data, authentically. */
async function find(answers: Readonly<Record<string, Answer>>): Promise<unknown> {
  return findDane(async (name, type) => answers[`${type} ${name}`] ?? nothing, 'mx.test', 25)
}

const safe = { 'A mx.test': found(true, '192.0.2.1') }

t.test('records count where addresses and records are authentic', async (t) => {
  t.match(await find({ ...safe, 'TLSA _25._tcp.mx.test': found(true, tlsa) }), {
    kind: 'dane',
    base: 'mx.test',
    records: [{ usage: 3, selector: 1, matching: 1 }],
    strings: [tlsa],
  })
  t.match(await find({ 'AAAA mx.test': found(true, '2001:db8::1'), 'TLSA _25._tcp.mx.test': found(true, tlsa) }), {
    kind: 'dane',
  })
  t.same(await find({ ...safe, 'TLSA _25._tcp.mx.test': found(false, tlsa) }), { kind: 'none' }, 'records that are not')
  t.same(
    await find({ 'A mx.test': found(false, '192.0.2.1'), 'TLSA _25._tcp.mx.test': found(true, tlsa) }),
    { kind: 'none' },
    'addresses that are not',
  )
  t.same(await find(safe), { kind: 'none' }, 'no record')
})

t.test('a look-up that fails is not the same as no record', async (t) => {
  t.same(await find({ ...safe, 'TLSA _25._tcp.mx.test': failed }), {
    kind: 'failed',
    what: 'TLSA _25._tcp.mx.test: SERVFAIL',
  })
  const withoutAddress = { 'A mx.test': failed, 'TLSA _25._tcp.mx.test': found(true, tlsa) }
  t.same(await find(withoutAddress), { kind: 'failed', what: 'A, AAAA mx.test: SERVFAIL' })
  const withoutV6 = { ...safe, 'AAAA mx.test': failed, 'TLSA _25._tcp.mx.test': found(true, tlsa) }
  t.match(await find(withoutV6), { kind: 'dane' }, 'the addresses that were found suffice')
})

t.test('records of which none is usable still say that the host has DANE', async (t) => {
  t.match(await find({ ...safe, 'TLSA _25._tcp.mx.test': found(true, `1 1 1 ${'ab'.repeat(32)}`) }), {
    kind: 'dane',
    records: [],
  })
})

t.test('an alias: its target first, then the name itself', async (t) => {
  const alias = { 'A mx.test': found(true, '192.0.2.1', 'target.test') }
  const ofTarget = { 'TLSA _25._tcp.target.test': found(true, tlsa) }
  const ofName = { 'TLSA _25._tcp.mx.test': found(true, tlsa) }
  t.match(await find({ ...alias, ...ofTarget, ...ofName }), { kind: 'dane', base: 'target.test' })
  t.match(await find({ ...alias, ...ofName }), { kind: 'dane', base: 'mx.test' })
  t.match(await find({ ...alias, ...ofName, 'TLSA _25._tcp.target.test': failed }), { kind: 'failed' })
})

t.test('an alias out of DNSSEC: the name itself, if its zone is signed', async (t) => {
  const away = { 'A mx.test': found(false, '192.0.2.1', 'target.test'), 'TLSA _25._tcp.mx.test': found(true, tlsa) }
  t.match(await find({ ...away, 'CNAME mx.test': found(true, 'target.test') }), { kind: 'dane', base: 'mx.test' })
  t.same(await find({ ...away, 'CNAME mx.test': found(false, 'target.test') }), { kind: 'none' })
  t.same(await find({ ...away, 'CNAME mx.test': failed }), { kind: 'failed', what: 'CNAME mx.test: SERVFAIL' })
})
