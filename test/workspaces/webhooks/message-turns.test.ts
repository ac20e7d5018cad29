/** Turns of large messages: some in all, and one of each owner. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { MessageTurns } from '../../../src/workspaces/webhooks/message-turns.js'

t.test('an owner waits for its own message, and the others wait for those of three owners', async (t) => {
  const turns = new MessageTurns()
  const begun: string[] = []
  for (const owner of ['a', 'a', 'b', 'c', 'd', 'e']) void turns.take(owner).then(() => begun.push(owner))
  await nextTurn()
  t.same(begun, ['a', 'b', 'c'])
  turns.end('a')
  await nextTurn()
  t.same(begun.slice(3), ['a'], 'the next message of an owner, whose wait was the longest')
  for (const owner of ['b', 'c']) turns.end(owner)
  await nextTurn()
  t.same(begun.slice(4), ['d', 'e'])
})
