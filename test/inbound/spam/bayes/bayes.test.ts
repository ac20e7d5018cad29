/** What the classifier has learned, in the database: learning, unlearning, expiry, bounds. */

import fc from 'fast-check'
import t from 'tap'
import { filterAsync } from '../../../../src/base/platform/async-filter.js'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { WriteConflict } from '../../../../src/base/storage/db/write.js'
import type { BayesVerdict } from '../../../../src/base/storage/tables/inbound-tables.js'
import { expireBayesData } from '../../../../src/inbound/spam/bayes/expiry.js'
import { type BayesDeps, learnMessage } from '../../../../src/inbound/spam/bayes/learn.js'
import { messageFingerprintOf } from '../../../../src/inbound/spam/bayes/lesson-digest.js'
import {
  buildLearnWrites,
  buildUnlearnWrites,
  findLearned,
  type MessageRef,
  readLearnedState,
  readTokenCounts,
} from '../../../../src/inbound/spam/bayes/records.js'
import type { TokenCount } from '../../../../src/inbound/spam/bayes/score.js'
import { hashWordToken } from '../../../../src/inbound/spam/bayes/token-keys.js'
import { tokenizeMessage } from '../../../../src/inbound/spam/bayes/tokens.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../../helpers/database/test-engine.js'
import { learnableOf, messageWithText } from '../../../helpers/spam/spam-messages.js'

const day = 86_400_000

interface TokenRow {
  readonly token: number
  readonly spam: number
  readonly ham: number
  readonly since: number
}

const tokenRows = async (read: Read, workspaceId: string): Promise<TokenRow[]> =>
  read('select token, spam, ham, since from bayes_tokens where workspace_id = ? order by token', [workspaceId])

/** The counts of these tokens, by their names. */
async function readBayesCounts(read: Read, workspaceId: string, tokens: readonly string[]) {
  const counts = await readTokenCounts(read, workspaceId, tokens.map(hashWordToken))
  const named = tokens.flatMap((token): [string, TokenCount][] => {
    const count = counts.get(hashWordToken(token))
    return count === undefined ? [] : [[token, count]]
  })
  return { messages: (await readLearnedState(read, workspaceId)).messages, tokens: new Map(named) }
}

/** Everything that scoring can see. */
const memory = async (read: Read, workspaceId: string): Promise<unknown> => ({
  tokens: (await tokenRows(read, workspaceId)).map(({ token, spam, ham }) => ({ token, spam, ham })),
  messages: (await readBayesCounts(read, workspaceId, [])).messages,
})

async function unlearn({ read, commit }: BayesDeps, message: MessageRef): Promise<void> {
  const learned = await findLearned(read, message)
  if (learned !== null) await commit(buildUnlearnWrites(learned))
}

t.test(
  'learning twice counts once, a correction leaves nothing of the first verdict, unlearning leaves nothing',
  async (t) => {
    const { database } = await temporaryDatabase(t)
    const { read } = database
    const lesson = (id: string, verdict: BayesVerdict, text: string) => ({
      workspaceId: 'ws_1',
      fingerprint: messageFingerprintOf(Buffer.from(id)),
      verdict,
      ...learnableOf(messageWithText(text)),
      at: 20 * day,
    })
    t.ok(await learnMessage(database, lesson('a', 'ham', 'lunch tomorrow')))
    const before = await memory(read, 'ws_1')
    t.ok(await learnMessage(database, lesson('b', 'spam', 'win prize tomorrow')))
    t.notOk(await learnMessage(database, lesson('b', 'spam', 'win prize tomorrow')))
    const counts = await readBayesCounts(read, 'ws_1', ['prize', 'tomorrow', 'lunch', 'never'])
    t.same(counts.messages, { spam: 1, ham: 1 })
    t.same(Object.fromEntries(counts.tokens), {
      prize: { spam: 1, ham: 0 },
      tomorrow: { spam: 1, ham: 1 },
      lunch: { spam: 0, ham: 1 },
    })

    t.ok(await learnMessage(database, lesson('b', 'ham', 'another text, as a later version may read it')))
    t.same((await readBayesCounts(read, 'ws_1', [])).messages, { spam: 0, ham: 2 })
    t.equal((await readBayesCounts(read, 'ws_1', ['prize'])).tokens.size, 0)
    t.same((await readBayesCounts(read, 'ws_1', ['tomorrow'])).tokens.get('tomorrow'), { spam: 0, ham: 1 })
    await unlearn(database, lesson('b', 'ham', ''))
    t.equal(await findLearned(read, lesson('b', 'ham', '')), null)
    t.same(await memory(read, 'ws_1'), before)
  },
)

t.test('concurrent feedback on one message counts once, with the last verdict', async (t) => {
  const { database } = await temporaryDatabase(t)
  const lesson = { workspaceId: 'ws_1', fingerprint: 'f', ...learnableOf(messageWithText('win prize')), at: 0 }
  const verdicts: readonly BayesVerdict[] = ['spam', 'ham', 'spam', 'spam', 'ham', 'spam']
  await Promise.all(verdicts.map((verdict) => learnMessage(database, { ...lesson, verdict })))
  const { messages, tokens } = await readBayesCounts(database.read, 'ws_1', ['prize'])
  t.equal(messages.spam + messages.ham, 1)
  t.same(tokens.get('prize'), messages)
  t.equal((await findLearned(database.read, lesson))?.verdict, messages.spam === 1 ? 'spam' : 'ham')
})

t.test('writes made for an outdated state miss, and change nothing', async (t) => {
  const { database } = await temporaryDatabase(t)
  const lesson = { workspaceId: 'ws_1', fingerprint: 'f', tokens: ['prize'], dated: 0, at: 0 }
  await database.commit(buildLearnWrites({ ...lesson, verdict: 'spam' }))
  const learned = await findLearned(database.read, lesson)
  if (learned === null) throw new Error('not learned')
  await t.rejects(database.commit(buildLearnWrites({ ...lesson, verdict: 'ham' })), WriteConflict)
  await database.commit([...buildUnlearnWrites(learned), ...buildLearnWrites({ ...lesson, verdict: 'ham' })])
  await t.rejects(database.commit(buildUnlearnWrites(learned)), WriteConflict)
  t.same((await readBayesCounts(database.read, 'ws_1', [])).messages, { spam: 0, ham: 1 })
})

const vocabulary = ['prize', 'lunch', 'money', 'meeting', 'watch', 'report', 'pills', 'train']

const step = fc.record({
  workspace: fc.constantFrom('a', 'b'),
  message: fc.nat(5),
  verdict: fc.constantFrom<(BayesVerdict | 'none')[]>('spam', 'ham', 'none'),
  words: fc.subarray(vocabulary, { minLength: 1 }),
})

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** The reference model of what is learned: workspace and message to verdict and words. */
type Model = Map<string, { readonly verdict: BayesVerdict; readonly keys: readonly number[] }>

async function take(deps: BayesDeps, model: Model, prefix: string, { workspace, message, verdict, words }: Step) {
  const learnable = { workspaceId: `${prefix}${workspace}`, fingerprint: `m${message}` }
  const name = `${learnable.workspaceId} ${learnable.fingerprint}`
  const said = messageWithText(words.join(' '))
  if (verdict === 'none') {
    await unlearn(deps, learnable)
    model.delete(name)
  } else if (await learnMessage(deps, { ...learnable, verdict, ...learnableOf(said), at: 0 })) {
    model.set(name, { verdict, keys: tokenizeMessage(said).map(hashWordToken) })
  }
}

function modelCounts(model: Model, workspaceId: string): unknown {
  const learned = [...model].filter(([name]) => name.startsWith(`${workspaceId} `)).map(([, one]) => one)
  const of = (some: typeof learned): TokenCount => ({
    spam: some.filter(({ verdict }) => verdict === 'spam').length,
    ham: some.filter(({ verdict }) => verdict === 'ham').length,
  })
  const keys = [...new Set(learned.flatMap((one) => one.keys))].sort((a, b) => a - b)
  return {
    tokens: keys.map((token) => ({ token, ...of(learned.filter((one) => one.keys.includes(token))) })),
    messages: of(learned),
  }
}

t.test('after any sequence the counts are those of the learned messages, and workspaces share nothing', async (t) => {
  const { database } = await temporaryDatabase(t)
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      run += 1
      const model: Model = new Map()
      for (const one of steps) await take(database, model, `ws_${run}`, one)
      for (const workspaceId of [`ws_${run}a`, `ws_${run}b`]) {
        t.strictSame(await memory(database.read, workspaceId), modelCounts(model, workspaceId))
      }
    }),
    { numRuns: 30 },
  )
})

t.test('after tokens expired, counts cover only the messages that are in them', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read } = database
  const deps = { ...database, limits: { tokens: 3, messages: 10_000 } }
  let run = 0
  let forgotten = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 20 }), async (steps) => {
      run += 1
      const model: Model = new Map()
      for (const one of steps) await take(deps, model, `ws_${run}`, { ...one, workspace: 'a' })
      const workspaceId = `ws_${run}a`
      const learned = await Promise.all(
        [...model.keys()].map((name) =>
          findLearned(read, { workspaceId, fingerprint: name.slice(workspaceId.length + 1) }),
        ),
      )
      const rows = await tokenRows(read, workspaceId)
      for (const { token, spam, ham, since } of rows) {
        const within = learned.filter((one) => one !== null && one.seq >= since && one.keys.includes(token))
        t.equal(within.filter((one) => one?.verdict === 'spam').length, spam)
        t.equal(within.filter((one) => one?.verdict === 'ham').length, ham)
      }
      if (rows.length < new Set([...model.values()].flatMap(({ keys }) => keys)).size) forgotten += 1
    }),
    { numRuns: 15 },
  )
  t.ok(forgotten > 0, 'something was forgotten in some of them')
})

t.test('rare and old tokens expire first, down to the bound and in one workspace alone', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const learn = (workspaceId: string, id: string, at: number, ...tokens: readonly string[]) =>
    commit(buildLearnWrites({ workspaceId, fingerprint: id, verdict: 'spam', tokens, dated: at, at }))
  for (const workspaceId of ['ws_1', 'ws_2']) {
    await learn(workspaceId, '1', 100 * day, 'often', 'old')
    await learn(workspaceId, '2', 101 * day, 'often')
    await learn(workspaceId, '3', 125 * day, 'newer')
    await learn(workspaceId, '4', 140 * day, 'newest')
  }
  const kept = async (workspaceId: string): Promise<unknown> =>
    [...(await readBayesCounts(read, workspaceId, ['often', 'old', 'newer', 'newest'])).tokens.keys()].sort()
  const forget = async (tokens: number, messages = 10) =>
    commit(await expireBayesData(read, 'ws_1', { tokens, messages }))

  t.same(await expireBayesData(read, 'ws_1', { tokens: 4, messages: 4 }), [])
  await forget(3)
  t.same(await kept('ws_1'), ['newer', 'newest', 'often'])
  await forget(2)
  t.same(await kept('ws_1'), ['newest', 'often'], 'seen twice on day 101 outweighs once on day 125')
  await forget(2, 3)
  const ids = await filterAsync(
    ['1', '2', '3', '4'],
    async (fingerprint) => (await findLearned(read, { workspaceId: 'ws_1', fingerprint })) !== null,
  )
  t.same(ids, ['2', '3', '4'])
  t.same((await readBayesCounts(read, 'ws_1', [])).messages, { spam: 4, ham: 0 }, 'what was learned of it stays')
  t.same(await expireBayesData(read, 'ws_1', { tokens: 2, messages: 3 }), [])
  t.same(await kept('ws_2'), ['newer', 'newest', 'often', 'old'])
})

t.test('learning never exceeds the bound by more than one message', async (t) => {
  const { database } = await temporaryDatabase(t)
  const deps = { ...database, limits: { tokens: 50, messages: 5 } }
  for (let n = 0; n < 12; n += 1) {
    const text = Array.from({ length: 40 }, (_, word) => `m${n}word${word}`).join(' ')
    await learnMessage(deps, {
      workspaceId: 'ws_1',
      fingerprint: `f${n}`,
      verdict: 'ham',
      ...learnableOf(messageWithText(text)),
      at: n * day,
    })
    t.ok((await tokenRows(database.read, 'ws_1')).length <= 50 + 42)
    t.ok((await database.read('select 1 from bayes_learned', [])).length <= 6)
  }
  t.equal((await readBayesCounts(database.read, 'ws_1', ['m11word0'])).tokens.size, 1, 'the last one is there')
})

t.test('a message with more tokens than one read covers gets all of its counts', async (t) => {
  const { database } = await temporaryDatabase(t)
  const tokens = Array.from({ length: 300 }, (_, n) => `word${n}`)
  await database.commit(
    buildLearnWrites({ workspaceId: 'ws_1', fingerprint: 'f', verdict: 'ham', tokens, dated: 0, at: 0 }),
  )
  t.same(
    [...(await readBayesCounts(database.read, 'ws_1', [...tokens, 'never'])).tokens.keys()].sort(),
    [...tokens].sort(),
  )
  t.equal((await readBayesCounts(database.read, 'ws_2', tokens)).tokens.size, 0)
})

t.test('tokens expire in the order of an index', { skip: skipOnPostgres(plansOfSqlite) }, async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit(
    buildLearnWrites({ workspaceId: 'ws_1', fingerprint: 'f', verdict: 'ham', tokens: ['a', 'b'], dated: 0, at: 0 }),
  )
  const [write] = await expireBayesData(database.read, 'ws_1', { tokens: 1, messages: 9 })
  const plan = await database.read<{ detail: string }>(`explain query plan ${write?.sql}`, write?.parameters ?? [])
  const details = plan.map(({ detail }) => detail).join('\n')
  t.match(details, /bayes_tokens_by_worth/)
  t.notMatch(details, /TEMP B-TREE FOR ORDER/)
})
