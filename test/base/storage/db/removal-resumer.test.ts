/** Removals that another node has left are resumed while a node leads. */
import t from 'tap'
import { RemovalResumer } from '../../../../src/base/storage/db/removal-resumer.js'
import { RemovalRunner } from '../../../../src/base/storage/db/removal-runner.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.test('what is left later is found by a later look, and is removed once at a time', async (t) => {
  const pending = new Set(['first'])
  const removed: string[] = []
  const gate = Promise.withResolvers<void>()
  let looks = 0
  const removals = new RemovalRunner<string>({
    listPending: async () => {
      looks += 1
      if (looks === 3) throw new Error('the server is away')
      return [...pending]
    },
    idOf: (deleted) => deleted,
    remove: async (deleted) => {
      removed.push(deleted)
      if (deleted === 'second') await gate.promise
      pending.delete(deleted)
    },
    onFault: (err) => t.error(err),
  })
  const errors: unknown[] = []
  const log = { error: (about: unknown) => errors.push(about) }
  const resumer = new RemovalResumer({ resume: () => removals.resume(), log, interval: 1 })
  await resumer.start()
  t.same(removed, ['first'])
  pending.add('second')
  await waitUntil('it is found', () => removed.includes('second'))
  const before = looks
  await waitUntil('there are more looks', () => looks > before + 3)
  t.same(removed, ['first', 'second'], 'one that is under way does not begin again')
  t.equal(errors.length, 1, 'a fault ends no looks')
  gate.resolve()
  await waitUntil('it is done', () => pending.size === 0)
  await resumer.stop()
  const last = looks
  pending.add('third')
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(looks, last, 'a node that does not lead looks no more')
  await removals.stop()
})
