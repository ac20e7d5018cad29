/** Turns of the owners of requests on the main thread. */
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { RequestTurns } from '../../../../../src/servers/api/http/pipeline/request-turns.js'

/** Each request takes two milliseconds, of which a turn has five: the third begins at four. */
function openTurns() {
  let time = 0
  const begun: string[] = []
  const turns = new RequestTurns(() => time)
  const request = async (name: string): Promise<void> => {
    await turns.take(name.slice(0, 1))
    begun.push(name)
    // What a request does after its first promises counts too.
    await Promise.resolve()
    time += 2
  }
  return { request, begun }
}

t.test('the owners of requests that are ready at once take turns', async (t) => {
  const { request, begun } = openTurns()
  const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map(request)
  t.same(begun, [], 'none begins before the others of its turn are known')
  await Promise.all(all)
  t.same(begun, ['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
})

t.test('a request that comes later waits for one request of each other owner', async (t) => {
  const { request, begun } = openTurns()
  const first = Array.from({ length: 50 }, (_, at) => request(`a${at}`))
  await turn()
  const before = begun.length
  t.ok(before > 0 && before <= 3, `${before} have begun`)
  await request('b1')
  t.ok(begun.indexOf('b1') <= before + 6, 'at most those of the turns in which it was admitted')
  await Promise.all(first)
  t.equal(begun.length, 51)
})

t.test('the turns of the event loop go on while requests wait', async (t) => {
  const { request, begun } = openTurns()
  const all = Promise.all(Array.from({ length: 20 }, (_, at) => request(`a${at}`)))
  for (let before = 0; begun.length < 20; before = begun.length) {
    await turn()
    t.ok(begun.length - before <= 6, `${begun.length - before} requests between two looks`)
  }
  await all
})
