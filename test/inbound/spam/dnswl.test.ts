/** Allow lists: which answers count, and which are about the query. */
import t from 'tap'
import type { LookupResult } from '../../../src/base/platform/dns/resolver.js'
import { BlockLists } from '../../../src/inbound/spam/dnsbl.js'
import { AllowLists } from '../../../src/inbound/spam/dnswl.js'

const list = { zone: 'list.test', weight: 1 }

interface Asked {
  readonly resolveAddresses: () => Promise<LookupResult<string>>
  readonly dnswl?: (typeof list)[]
  readonly timeLimit?: number
}

function openLists({ resolveAddresses, dnswl = [list], timeLimit = 1_000 }: Asked) {
  const refused: unknown[] = []
  const log = { warn: (line: unknown) => refused.push(line) }
  const settings = () => ({ dnswl, dnsbl: dnswl })
  const deps = { resolver: { resolveAddresses }, settings, timeLimit }
  return { refused, allowLists: new AllowLists({ ...deps, log }), blockLists: new BlockLists(deps) }
}

function lookUp(answers: readonly [string, ...string[]] | null) {
  const result: LookupResult<string> =
    answers === null ? { kind: 'no-domain' } : { kind: 'records', records: [answers[0], ...answers.slice(1)] }
  const { refused, allowLists, blockLists } = openLists({ resolveAddresses: async () => result })
  return { refused, allowLists, found: allowLists.find('8.8.4.1'), blocked: blockLists.find('8.8.4.1') }
}

t.test('the last number is the trust', async (t) => {
  const cases: readonly (readonly [string, number | null])[] = [
    ['127.0.5.0', null],
    ['127.0.5.1', 1],
    ['127.0.10.2', 2],
    ['127.0.255.3', 3],
    ['127.0.5.4', null],
    ['127.1.5.1', null],
    ['10.0.5.1', null],
    ['::ffff:127.0.5.1', null],
    ['127.0.5.1.', null],
  ]
  for (const [answer, trust] of cases) {
    const found = await lookUp([answer]).found
    t.same(found, trust === null ? [] : [{ ...list, trust, answer }], answer)
  }
  t.same(await lookUp(null).found, [])
  t.equal((await lookUp(['127.0.5.0', '127.0.6.2']).found)[0]?.trust, 2)
})

t.test('a list that refuses the query says nothing, as allow list and as block list', async (t) => {
  for (const answer of ['127.0.0.255', '127.255.255.252', '127.255.255.254']) {
    const { found, allowLists, refused, blocked } = lookUp([answer, '127.0.5.3'])
    t.same(await found, [], answer)
    t.same(await allowLists.find('8.8.4.2'), [], answer)
    t.same(refused, [{ zone: 'list.test', answer }], 'the log says so once')
    t.not((await blocked)[0]?.answer, answer)
  }
})

t.test('lists that fail or are late, private addresses, no lists', async (t) => {
  const failing = openLists({ resolveAddresses: () => Promise.reject(new Error('no')) })
  t.same(await failing.allowLists.find('8.8.4.1'), [])
  const resolveAddresses = () => new Promise<never>(() => undefined)
  const silent = openLists({ resolveAddresses, timeLimit: 5 })
  t.same(await silent.allowLists.find('8.8.4.1'), [])
  t.same(await silent.allowLists.find('127.0.0.1'), [])
  t.same(await openLists({ resolveAddresses, dnswl: [] }).allowLists.find('8.8.4.1'), [])
  t.same([failing.refused, silent.refused], [[], []], 'nothing is refused')
})
