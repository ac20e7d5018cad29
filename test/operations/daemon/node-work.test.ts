/** A node that drains, and one that has got rows of another. */
import t from 'tap'
import { loneNode, type WorkState } from '../../../src/base/storage/db/node-state.js'
import { NodeWork } from '../../../src/operations/daemon/node-work.js'
import { waitUntil } from '../../helpers/wait-until.js'

function openWork(t: { readonly teardown: (end: () => Promise<void>) => void }) {
  const acts: string[] = []
  const world = { state: 'working' as WorkState, turns: 0, refusals: 0, tell: (): void => undefined }
  const work = new NodeWork({
    node: {
      ...loneNode,
      name: 'one',
      state: () => world.state,
      onChange: (listener) => {
        world.tell = listener
      },
      noteDrained: async () => {
        acts.push('drained')
        if (world.refusals-- > 0) throw new Error('the database is away')
      },
    },
    delivery: {
      lookAgain: () => void acts.push('queue'),
      runner: {
        activeCount: 0,
        countTurns: () => world.turns,
        halt: async () => void acts.push('halt'),
      } as never,
    },
    receiving: { resume: () => void acts.push('inbound') },
    log: { info: () => undefined, error: () => void acts.push('error') },
  })
  work.start()
  t.teardown(() => work.stop())
  return { acts, world, work }
}

t.test('rows that have become its own are looked for', async (t) => {
  const { acts, world } = openWork(t)
  t.same(acts, [], 'the start has found its own')
  world.tell()
  t.same(acts, ['queue', 'inbound'])
})

t.test('a node that drains lets attempts end, and says so until it is written', async (t) => {
  const { acts, world } = openWork(t)
  Object.assign(world, { state: 'draining', turns: 1, refusals: 1 })
  world.tell()
  world.tell()
  await new Promise((resolve) => setTimeout(resolve, 150))
  t.same(acts, ['halt'], 'an attempt is under way')
  world.turns = 0
  await waitUntil('it is written', () => acts.length === 4)
  t.same(acts, ['halt', 'drained', 'error', 'drained'])
})

t.test('a node that is stopped while it drains does not wait', async (t) => {
  const { acts, world, work } = openWork(t)
  Object.assign(world, { state: 'draining', turns: 1 })
  world.tell()
  await work.stop()
  t.same(acts, ['halt'])
})
