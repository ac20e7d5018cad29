/** Allow lists: which answers count, and which are about the query. */
import t from 'tap'
import type { LookupResult } from '../../src/platform/dns/resolver.js'
import { findListings } from '../../src/spam/dnsbl.js'
import { findAllowListings } from '../../src/spam/dnswl.js'

const list = { zone: 'list.test', weight: 1 }

function lookUp(answers: readonly [string, ...string[]] | null) {
  const refused: string[] = []
  const result: LookupResult<string> =
    answers === null ? { kind: 'no-domain' } : { kind: 'records', records: [answers[0], ...answers.slice(1)] }
  const deps = { lists: [list], resolveAddresses: async () => result, timeLimit: 1_000 }
  const onRefusedQuery = (zone: string, answer: string): void => {
    refused.push(`${zone} ${answer}`)
  }
  return {
    refused,
    found: findAllowListings('8.8.4.1', { ...deps, onRefusedQuery }),
    blocked: findListings('8.8.4.1', deps),
  }
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
    const { found, refused, blocked } = lookUp([answer, '127.0.5.3'])
    t.same(await found, [], answer)
    t.same(refused, [`list.test ${answer}`])
    t.not((await blocked)[0]?.answer, answer)
  }
})

t.test('lists that fail or are late, private addresses, no lists', async (t) => {
  const onRefusedQuery = (): void => {
    t.fail('nothing is refused')
  }
  const lists = [list]
  const failing = { lists, resolveAddresses: () => Promise.reject(new Error('no')), timeLimit: 1_000, onRefusedQuery }
  t.same(await findAllowListings('8.8.4.1', failing), [])
  const silent = { lists, resolveAddresses: () => new Promise<never>(() => undefined), timeLimit: 5, onRefusedQuery }
  t.same(await findAllowListings('8.8.4.1', silent), [])
  t.same(await findAllowListings('127.0.0.1', silent), [])
  t.same(await findAllowListings('8.8.4.1', { ...silent, lists: [] }), [])
})
