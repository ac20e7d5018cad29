/** Answers to challenges that all daemons can give. */
import t from 'tap'
import { ChallengeRows } from '../../../src/operations/certificates/challenge-rows.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

t.test('an answer is there for every daemon until it is removed', async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  let now = 0
  const one = new ChallengeRows(database, () => now)
  const two = new ChallengeRows(await openAgain(), () => now)
  await one.add('a', 'answer a')
  await one.add('b', 'answer b')
  await two.add('b', 'answer of another order')
  const expected = [
    ['a', 'answer a'],
    ['b', 'answer of another order'],
  ]
  t.same([...(await two.readAll())].sort(), expected)
  await two.remove('b')
  t.same([...(await one.readAll())], [['a', 'answer a']])
  now += 3_600_000
  t.equal((await one.readAll()).size, 0, 'that of a daemon that was killed')
  await two.add('c', 'answer c')
  t.same(await database.read('select token from acme_challenges', []), [{ token: 'c' }], 'it is removed')
})

t.test('an answer that cannot be removed ends no order', async (t) => {
  const { read } = (await temporaryDatabase(t)).database
  const rows = new ChallengeRows({ read, commit: () => Promise.reject(new Error('away')) }, () => 0)
  await rows.remove('a')
  await t.rejects(rows.add('a', 'b'), /away/, 'one that cannot be added does')
})
