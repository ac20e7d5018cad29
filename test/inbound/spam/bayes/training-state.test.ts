/** What a workspace has taught the classifier: messages, recent ones, words, and whether it has its full weight. */
import t from 'tap'
import { learnMessage } from '../../../../src/inbound/spam/bayes/learn.js'
import { readTrainingState } from '../../../../src/inbound/spam/bayes/training-state.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { learnableOf, messageWithText } from '../../../helpers/spam/spam-messages.js'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 5, 1)

t.test('the numbers are those of one workspace, and recent mail counts apart', async (t) => {
  const { database } = await temporaryDatabase(t)
  const learn = (workspaceId: string, fingerprint: string, verdict: 'spam' | 'ham', age: number): Promise<boolean> => {
    const message = { ...messageWithText(`words of ${fingerprint}`), receivedAt: NOW - age * DAY }
    return learnMessage(database, { workspaceId, fingerprint, verdict, ...learnableOf(message), at: NOW })
  }
  const read = (workspaceId: string) => readTrainingState(database.read, workspaceId, NOW)
  const nothing = { learned: { spam: 0, ham: 0 }, recent: { spam: 0, ham: 0 }, words: 0, seasoned: false }
  t.same(await read('ws_1'), nothing)
  await learn('ws_1', 'a', 'spam', 0)
  await learn('ws_1', 'b', 'spam', 400)
  await learn('ws_1', 'c', 'ham', 10)
  const state = await read('ws_1')
  t.match(state, { learned: { spam: 2, ham: 1 }, recent: { spam: 1, ham: 1 }, seasoned: false })
  const words = await database.read<{ n: number }>(
    "select count(*) as n from bayes_tokens where workspace_id = 'ws_1'",
    [],
  )
  t.equal(state.words, words[0]?.n)
  t.same(await read('ws_2'), nothing)
})

t.test('with 200 recent messages of each kind the classifier has its full weight', async (t) => {
  const { database } = await temporaryDatabase(t)
  const isSeasoned = async (): Promise<boolean> => (await readTrainingState(database.read, 'ws_1', NOW)).seasoned
  const learn = (n: number, verdict: 'spam' | 'ham'): Promise<boolean> => {
    const message = { ...messageWithText('words'), receivedAt: NOW }
    return learnMessage(database, {
      workspaceId: 'ws_1',
      fingerprint: `${verdict} ${n}`,
      verdict,
      ...learnableOf(message),
      at: NOW,
    })
  }
  for (let n = 0; n < 199; n += 1) await Promise.all([learn(n, 'spam'), learn(n, 'ham')])
  await learn(199, 'spam')
  t.equal(await isSeasoned(), false)
  await learn(199, 'ham')
  t.equal(await isSeasoned(), true)
})
