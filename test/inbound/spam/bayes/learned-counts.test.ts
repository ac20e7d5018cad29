/** The copy of probabilities in memory: always those of what the database has, whoever learns. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import type { BayesVerdict } from '../../../../src/base/storage/tables/inbound-tables.js'
import { expireBayesData } from '../../../../src/inbound/spam/bayes/expiry.js'
import { LearnedCounts } from '../../../../src/inbound/spam/bayes/learned-counts.js'
import {
  buildLearnWrites,
  buildUnlearnWrites,
  findLearned,
  readLearnedState,
  readTokenCounts,
} from '../../../../src/inbound/spam/bayes/records.js'
import { computeDecisiveProbability } from '../../../../src/inbound/spam/bayes/score.js'
import { hashWordToken } from '../../../../src/inbound/spam/bayes/token-keys.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const day = 86_400_000
const words = Array.from({ length: 60 }, (_, at) => `word${at}`)
const keys = words.map(hashWordToken)

interface Lesson {
  readonly workspaceId?: string
  readonly verdict: BayesVerdict
  readonly tokens: readonly string[]
  readonly fingerprint: string
}

function learn({ commit }: Pick<Database, 'commit'>, { workspaceId = 'ws_1', ...lesson }: Lesson): Promise<void> {
  return commit(buildLearnWrites({ ...lesson, workspaceId, dated: 200 * day, at: 200 * day }))
}

/** Fifty messages of each kind, so that there is an opinion. */
async function teachEnough(database: Database, workspaceId = 'ws_1'): Promise<void> {
  for (let n = 0; n < 50; n += 1) {
    const tokens = words.slice(n % 30, (n % 30) + 30)
    await learn(database, { workspaceId, verdict: 'spam', tokens, fingerprint: `s${n}` })
    await learn(database, { workspaceId, verdict: 'ham', tokens: tokens.slice(0, 5), fingerprint: `h${n}` })
  }
}

/** Counts how often words are read one by one. */
function countReads(read: Read): { readonly read: Read; readonly lookups: () => number } {
  let lookups = 0
  return {
    read: async (sql, parameters) => {
      if (sql.includes('"token" in')) lookups += 1
      return read(sql, parameters)
    },
    lookups: () => lookups,
  }
}

/** Of a clock that goes on by a second each time it is read, so that what was read before is too old. */
function createLearned(read: Read): LearnedCounts {
  let now = 0
  return new LearnedCounts(read, () => {
    now += 1_000
    return now
  })
}

async function sameAsDatabase(t: Test, learned: LearnedCounts, read: Read, workspaceId = 'ws_1'): Promise<void> {
  const found = await learned.findProbabilities(workspaceId, keys)
  const stored = await readTokenCounts(read, workspaceId, keys)
  const { messages } = await readLearnedState(read, workspaceId)
  if (messages.spam < 50 || messages.ham < 50) {
    t.equal(found, null)
    return
  }
  const expected = keys
    .map((key) => stored.get(key))
    .map((count) => (count === undefined ? null : computeDecisiveProbability(count, messages)))
  t.strictSame(
    found,
    expected.filter((probability) => probability !== null),
  )
}

/** Asks until the counts are in memory. */
async function copied(learned: LearnedCounts, lookups: () => number, workspaceId = 'ws_1'): Promise<void> {
  await waitUntil('the counts are in memory', async () => {
    const before = lookups()
    await learned.findProbabilities(workspaceId, keys)
    return lookups() === before
  })
}

t.test('there are no counts before enough was learned', async (t) => {
  const { database } = await temporaryDatabase(t)
  const learned = createLearned(database.read)
  t.equal(await learned.findProbabilities('ws_1', keys), null)
  await learn(database, { verdict: 'spam', tokens: words, fingerprint: 'a' })
  t.equal(await learned.findProbabilities('ws_1', keys), null)
})

t.test(
  'words are read from the database until they are in memory, and again after something was learned',
  async (t) => {
    const { database } = await temporaryDatabase(t)
    await teachEnough(database)
    const { read, lookups } = countReads(database.read)
    const learned = createLearned(read)
    await sameAsDatabase(t, learned, database.read)
    t.ok(lookups() > 0)
    await copied(learned, lookups)
    await sameAsDatabase(t, learned, database.read)
    const before = lookups()
    await learn(database, { verdict: 'spam', tokens: ['word1', 'new'], fingerprint: 'late' })
    await sameAsDatabase(t, learned, database.read)
    t.ok(lookups() > before, 'the copy is not used')
    await copied(learned, lookups)
    await sameAsDatabase(t, learned, database.read)
  },
)

t.test('workspaces share nothing', async (t) => {
  const { database } = await temporaryDatabase(t)
  await teachEnough(database, 'ws_1')
  const { read, lookups } = countReads(database.read)
  const learned = createLearned(read)
  await copied(learned, lookups)
  t.equal(await learned.findProbabilities('ws_2', keys), null)
  await teachEnough(database, 'ws_2')
  await learn(database, { workspaceId: 'ws_2', verdict: 'spam', tokens: ['word2'], fingerprint: 'x' })
  await copied(learned, lookups, 'ws_2')
  await sameAsDatabase(t, learned, database.read, 'ws_1')
  await sameAsDatabase(t, learned, database.read, 'ws_2')
})

t.test('after any sequence of learning, correction and expiry the counts are those of the database', async (t) => {
  const { database } = await temporaryDatabase(t)
  await teachEnough(database)
  const { read, lookups } = countReads(database.read)
  const learned = createLearned(read)
  const step = fc.record({
    message: fc.nat(120),
    verdict: fc.constantFrom<BayesVerdict[]>('spam', 'ham'),
    tokens: fc.subarray(words, { minLength: 1, maxLength: 10 }),
    expires: fc.boolean(),
    waits: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
      for (const { message, verdict, tokens, expires, waits } of steps) {
        const fingerprint = `s${message}`
        const before = await findLearned(database.read, { workspaceId: 'ws_1', fingerprint })
        const limits = { tokens: 40, messages: 1_000 }
        await database.commit([
          ...(before === null ? [] : buildUnlearnWrites(before)),
          ...(expires ? await expireBayesData(database.read, 'ws_1', limits) : []),
          ...buildLearnWrites({ workspaceId: 'ws_1', fingerprint, verdict, tokens, dated: 200 * day, at: 200 * day }),
        ])
        await sameAsDatabase(t, learned, database.read)
        if (waits && (await learned.findProbabilities('ws_1', keys)) !== null) await copied(learned, lookups)
        await sameAsDatabase(t, learned, database.read)
      }
    }),
    { numRuns: 15 },
  )
})

t.test('what was learned while counts were copied is not missed', async (t) => {
  const { database } = await temporaryDatabase(t)
  const many = Array.from({ length: 950 }, (_, at) => `m${at}`)
  await teachEnough(database)
  for (let n = 0; n < 5; n += 1) {
    await learn(database, { verdict: 'ham', tokens: many.map((word) => `${word}of${n}`), fingerprint: `many${n}` })
  }
  const { read, lookups } = countReads(database.read)
  const learned = createLearned(read)
  let steps = 0
  while (steps < 200) {
    await learned.findProbabilities('ws_1', keys)
    steps += 1
  }
  await learn(database, { verdict: 'spam', tokens: words, fingerprint: 'meanwhile' })
  await sameAsDatabase(t, learned, database.read)
  await copied(learned, lookups)
  await sameAsDatabase(t, learned, database.read)
})

t.test('recent mail is counted by the day on which a message came', async (t) => {
  const { database } = await temporaryDatabase(t)
  await teachEnough(database)
  const learned = createLearned(database.read)
  await learned.findProbabilities('ws_1', keys)
  t.same(await learned.countRecent('ws_1', 201 * day), { spam: 50, ham: 50 })
  t.same(await learned.countRecent('ws_1', 201 * day + 1), { spam: 50, ham: 50 })
  t.same(await learned.countRecent('ws_1', 500 * day), { spam: 0, ham: 0 })
  await learn(database, { verdict: 'spam', tokens: ['word1'], fingerprint: 'late' })
  await learned.findProbabilities('ws_1', keys)
  t.same(await learned.countRecent('ws_1', 201 * day), { spam: 51, ham: 50 })
})

t.test('the state is read again after a quarter of a second, and when the clock goes back', async (t) => {
  const { database } = await temporaryDatabase(t)
  await teachEnough(database)
  let states = 0
  let now = 1_000
  const learned = new LearnedCounts(
    async (sql, parameters) => {
      if (sql.includes('"newest"')) states += 1
      return database.read(sql, parameters)
    },
    () => now,
  )
  const statesReadAt = async (moment: number): Promise<number> => {
    now = moment
    // So few words that they are not copied, for which the state would be read too.
    for (let message = 0; message < 3; message += 1) await learned.findProbabilities('ws_1', keys.slice(0, 4))
    return states
  }
  t.equal(await statesReadAt(1_000), 1)
  t.equal(await statesReadAt(1_249), 1)
  t.equal(await statesReadAt(1_250), 2)
  t.equal(await statesReadAt(1_000), 3)
  await learn(database, { verdict: 'ham', tokens: words, fingerprint: 'late' })
  now = 1_250
  await sameAsDatabase(t, learned, database.read)
})
