/** Commits wait for each other while the threads are busy, and each has its own outcome. */
import t from 'tap'
import { type Write, WriteConflict } from '../../../src/base/storage/db/write.js'
import { GatheredCommits } from '../../../src/inbound/receiving/gathered-commits.js'
import { waitUntil } from '../../helpers/wait-until.js'

interface Gathering {
  readonly commit: (name: string) => Promise<void>
  /** In the order in which they began. */
  readonly begun: string[]
  busy: boolean
}

function createGathering(): Gathering {
  const begun: string[] = []
  const gathering = { begun, busy: false }
  const commits = new GatheredCommits({
    commit: async ([write]: readonly Write[]) => {
      begun.push(write?.sql ?? '')
      if (write?.sql === 'missed') throw new WriteConflict('missed')
    },
    threads: { isBusy: () => gathering.busy },
  })
  return Object.assign(gathering, { commit: (name: string) => commits.commit([{ sql: name, parameters: [] }]) })
}

t.test('without other messages in hand a commit begins at once', async (t) => {
  const { commit, begun } = createGathering()
  const made = commit('alone')
  t.same(begun, ['alone'])
  await made
})

t.test('while the threads are busy commits wait for the next ones, and begin in their order', async (t) => {
  const gathering = createGathering()
  gathering.busy = true
  const made = [gathering.commit('first'), gathering.commit('second')]
  t.same(gathering.begun, [])
  gathering.busy = false
  made.push(gathering.commit('third'))
  t.same(gathering.begun, ['first', 'second', 'third'])
  await Promise.all(made)
})

t.test('they do not wait for long', async (t) => {
  const gathering = createGathering()
  gathering.busy = true
  const made = gathering.commit('first')
  await waitUntil('it has begun', () => gathering.begun.length === 1)
  await made
  await gathering.commit('second')
  t.same(gathering.begun, ['first', 'second'])
})

t.test('at most 32 wait', async (t) => {
  const gathering = createGathering()
  gathering.busy = true
  const made = Array.from({ length: 32 }, (_, at) => gathering.commit(`${at}`))
  t.same(gathering.begun, [])
  made.push(gathering.commit('32'))
  t.equal(gathering.begun.length, 33)
  await Promise.all(made)
})

t.test('each has its own outcome', async (t) => {
  const gathering = createGathering()
  gathering.busy = true
  const outcomes = await Promise.allSettled(['first', 'missed', 'last'].map((name) => gathering.commit(name)))
  t.same(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.match(outcomes[1], { reason: { name: 'WriteConflict' } })
})
