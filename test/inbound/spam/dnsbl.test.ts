/** Block lists: which names are queried, and which answers count. */
import t from 'tap'
import type { LookupResult } from '../../../src/base/platform/dns/resolver.js'
import { BlockLists, totalWeight } from '../../../src/inbound/spam/dnsbl.js'

const lists = [
  { zone: 'bl.test', weight: 3 },
  { zone: 'other.test', weight: 1.5 },
]

type List = (typeof lists)[number]
type Resolve = (name: string) => Promise<LookupResult<string>>

function findListings(
  client: string,
  {
    dnsbl = lists,
    resolveAddresses,
    timeLimit = 1000,
  }: { dnsbl?: List[]; resolveAddresses: Resolve; timeLimit?: number },
) {
  return new BlockLists({ resolver: { resolveAddresses }, settings: () => ({ dnsbl }), timeLimit }).find(client)
}

function zone(records: Readonly<Record<string, LookupResult<string>>>) {
  const asked: string[] = []
  return {
    asked,
    addresses: async (name: string): Promise<LookupResult<string>> => {
      asked.push(name)
      return records[name] ?? { kind: 'no-domain' }
    },
  }
}

t.test('a listing names its zone, weight and answer; an answer outside 127.0.0.0/8 is none', async (t) => {
  const { addresses: resolveAddresses, asked } = zone({
    '1.4.8.8.bl.test': { kind: 'records', records: ['203.0.113.9', '127.0.0.4', '127.0.0.2'] },
    '1.4.8.8.other.test': { kind: 'records', records: ['93.184.216.34', '::7f00:2'] },
  })
  const found = await findListings('8.8.4.1', { resolveAddresses })
  t.same(found, [{ zone: 'bl.test', weight: 3, answer: '127.0.0.4' }])
  t.same(asked, ['1.4.8.8.bl.test', '1.4.8.8.other.test'])
  t.equal(totalWeight([...found, { zone: 'x.test', weight: 1.5, answer: '127.0.0.2' }]), 4.5)
})

t.test('a list that fails, throws or never answers does not affect the others', async (t) => {
  const answers: Readonly<Record<string, () => Promise<LookupResult<string>>>> = {
    '1.4.8.8.late.test': () => new Promise(() => undefined),
    '1.4.8.8.broken.test': () => Promise.reject(new Error('broken')),
    '1.4.8.8.failing.test': async () => ({ kind: 'failure', detail: 'SERVFAIL' }),
    '1.4.8.8.good.test': async () => ({ kind: 'records', records: ['127.0.0.2'] }),
  }
  const found = await findListings('8.8.4.1', {
    dnsbl: ['late', 'broken', 'failing', 'good'].map((name) => ({ zone: `${name}.test`, weight: 1 })),
    resolveAddresses: (name) => answers[name]?.() ?? Promise.reject(new Error(name)),
    timeLimit: 10,
  })
  t.same(found, [{ zone: 'good.test', weight: 1, answer: '127.0.0.2' }])
})

t.test('without lists, or for an address that is not public, nothing is queried', async (t) => {
  const { addresses: resolveAddresses, asked } = zone({})
  t.same(await findListings('8.8.4.1', { dnsbl: [], resolveAddresses }), [])
  t.same(await findListings('127.0.0.1', { resolveAddresses }), [])
  t.same(asked, [])
})
