/** A result is remembered exactly as long as the DNS answers that it was made from. */
import type { DNSResolver } from 'mailauth'
import t from 'tap'
import type { LookupResult } from '../../../../src/base/platform/dns/resolver.js'
import { AnswerMemo } from '../../../../src/inbound/receiving/authentication/answer-memo.js'
import { type KeepingResolver, MessageQueries } from '../../../../src/inbound/receiving/authentication/dns-queries.js'
import type { FoundAnswer } from '../../../../src/inbound/receiving/authentication/kept-answers.js'

const one: LookupResult<string> = { kind: 'records', records: ['one'] }
const two: LookupResult<string> = { kind: 'records', records: ['two'] }

interface Fixture {
  /** The answers at hand, by their question. */
  readonly kept: Map<string, FoundAnswer>
  /** Runs a check of a new message that asks for these TXT records; the result is their text. */
  readonly run: (input: string, names: readonly string[]) => Promise<string>
  /** Checks that were run. */
  readonly count: () => number
}

function open(memo: AnswerMemo<string>): Fixture {
  const kept = new Map<string, FoundAnswer>()
  let runs = 0
  const queries = (): MessageQueries =>
    new MessageQueries(
      {
        findKept: (key) => kept.get(key),
        resolveRecords: async () => ({ kind: 'records', records: ['asked'] }),
        resolveMx: async () => ({ kind: 'no-data' }),
      },
      { perQuery: 1000, perMessage: 1000 },
      () => 0,
    )
  return {
    kept,
    count: () => runs,
    run: (input, names) => {
      const asked = queries()
      return memo.run(input, asked, asked.createResolver(100), async (resolver) => {
        runs += 1
        const found = await Promise.all(names.map((name) => resolver(name, 'TXT')))
        return found.flat(2).join()
      })
    },
  }
}

t.test('a result holds while its answers do, for the same input', async (t) => {
  const { kept, run, count } = open(new AnswerMemo<string>(() => true))
  kept.set('TXT a.test', one).set('TXT b.test', one)
  t.equal(await run('x', ['a.test', 'b.test']), 'one,one')
  t.equal(await run('x', ['a.test', 'b.test']), 'one,one')
  t.equal(count(), 1)
  await run('y', ['a.test', 'b.test'])
  t.equal(count(), 2, 'another input is another check')
  kept.set('TXT b.test', two)
  t.equal(await run('x', ['a.test', 'b.test']), 'one,two', 'another answer is another result')
  kept.delete('TXT a.test')
  t.equal(await run('x', ['a.test', 'b.test']), 'asked,two', 'an answer that has expired is asked for')
})

t.test('a result is not remembered if an answer may not be kept, or if it does not last', async (t) => {
  const { run, count } = open(new AnswerMemo<string>(() => true))
  for (let turn = 0; turn < 2; turn += 1) t.equal(await run('x', ['a.test']), 'asked')
  t.equal(count(), 2)
  const fleeting = open(new AnswerMemo<string>((value) => value !== 'one'))
  fleeting.kept.set('TXT a.test', one)
  for (let turn = 0; turn < 2; turn += 1) await fleeting.run('x', ['a.test'])
  t.equal(fleeting.count(), 2)
})

t.test('nor with a long input, or very many questions', async (t) => {
  const { kept, run, count } = open(new AnswerMemo<string>(() => true))
  kept.set('TXT a.test', one)
  for (let turn = 0; turn < 2; turn += 1) await run('x'.repeat(1001), ['a.test'])
  t.equal(count(), 2)
  const names = Array.from({ length: 31 }, (_, at) => `a${at}.test`)
  for (const name of names) kept.set(`TXT ${name}`, one)
  for (let turn = 0; turn < 2; turn += 1) await run('x', names)
  t.equal(count(), 4)
})

t.test('nor with a question that was refused', async (t) => {
  const memo = new AnswerMemo<string>(() => true)
  const resolver: KeepingResolver = {
    findKept: () => one,
    resolveRecords: async () => one,
    resolveMx: async () => ({ kind: 'no-data' }),
  }
  let runs = 0
  for (let turn = 0; turn < 2; turn += 1) {
    const queries = new MessageQueries(resolver, { perQuery: 1000, perMessage: 1000 }, () => 0)
    await memo.run('x', queries, queries.createResolver(0), async (ask) => {
      runs += 1
      await t.rejects(ask('a.test', 'TXT'), { code: 'ELOOKUPLIMIT' })
      return ''
    })
  }
  t.equal(runs, 2)
})

t.test('results with large answers make room for one another', async (t) => {
  const { kept, run, count } = open(new AnswerMemo<string>(() => true))
  const names = Array.from({ length: 20 }, (_, at) => `a${at}.test`)
  for (const name of names) kept.set(`TXT ${name}`, { kind: 'records', records: ['x'.repeat(4096)] })
  for (let at = 0; at < 100; at += 1) await run(`${at}`, names)
  await run('99', names)
  t.equal(count(), 100, 'the newest is remembered')
  await run('0', names)
  t.equal(count(), 101, 'the oldest is not')
})

t.test('an answer that was at hand is so until the end of the message', async (t) => {
  const memo = new AnswerMemo<string>(() => true)
  const kept = new Map<string, FoundAnswer>([['TXT a.test', one]])
  let now = 0
  const resolver: KeepingResolver = {
    findKept: (key) => kept.get(key),
    resolveRecords: async () => two,
    resolveMx: async () => ({ kind: 'no-data' }),
  }
  const open = (): MessageQueries => new MessageQueries(resolver, { perQuery: 1000, perMessage: 1000 }, () => now)
  const check = async (ask: DNSResolver): Promise<string> => (await ask('a.test', 'TXT')).flat().join()
  const first = open()
  t.equal(await memo.run('x', first, first.createResolver(9), check), 'one')
  const second = open()
  t.equal(await memo.run('x', second, second.createResolver(9), check), 'one')
  kept.clear()
  now = 5000
  t.equal(await check(second.createResolver(9)), 'one', 'although it has expired and the time for questions is over')
})
