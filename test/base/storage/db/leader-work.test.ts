/** Services that one node runs for all begin when a node begins to lead, and end when it ceases. */
import t, { type Test } from 'tap'
import { type LeaderService, LeaderWork } from '../../../../src/base/storage/db/leader-work.js'
import { waitUntil } from '../../../helpers/wait-until.js'

interface TestNode {
  readonly leads: () => boolean
  readonly onChange: (listener: () => void) => void
  /** Begins or ceases to lead. */
  readonly set: (leads: boolean) => void
}

function createNode(isLeading: boolean): TestNode {
  let leading = isLeading
  const listeners: (() => void)[] = []
  return {
    leads: () => leading,
    onChange: (listener) => listeners.push(listener),
    set: (leads) => {
      leading = leads
      for (const listener of listeners) listener()
    },
  }
}

function openWork(t: Test, isLeading: boolean, faults = 0) {
  const calls: string[] = []
  const errors: unknown[] = []
  let faultsLeft = faults
  const service = (name: string): LeaderService => ({
    start: async () => {
      if (name === 'second' && faultsLeft > 0) {
        faultsLeft -= 1
        throw new Error('not now')
      }
      calls.push(`${name} starts`)
    },
    stop: async () => void calls.push(`${name} stops`),
  })
  const node = createNode(isLeading)
  const log = { error: (about: unknown) => errors.push(about), info: () => undefined }
  const work = new LeaderWork(node, log, [service('first'), service('second')])
  t.teardown(() => work.stop())
  return { work, node, calls, errors }
}

const begun = ['first starts', 'second starts']
const ended = ['second stops', 'first stops']

t.test('a node that leads runs them from the start to the end', async (t) => {
  const { work, calls } = openWork(t, true)
  await work.start()
  t.same(calls, begun)
  await work.stop()
  t.same(calls, [...begun, ...ended])
})

t.test('they follow a node that begins to lead, ceases, and begins again', async (t) => {
  const { work, node, calls } = openWork(t, false)
  await work.start()
  t.same(calls, [], 'another node leads')
  node.set(true)
  await waitUntil('they have begun', () => calls.length === 2)
  node.set(true)
  node.set(false)
  await waitUntil('they have ended', () => calls.length === 4)
  node.set(true)
  await waitUntil('they have begun again', () => calls.length === 6)
  t.same(calls, [...begun, ...ended, ...begun])
  await work.stop()
  node.set(false)
  node.set(true)
  await work.stop()
  t.same(calls, [...begun, ...ended, ...begun, ...ended], 'nothing begins after the end')
})

t.test('a service that cannot start fails the start of the daemon, and is started again later', async (t) => {
  await t.rejects(openWork(t, true, 1).work.start(), { message: 'not now' })
  const { work, node, calls, errors } = openWork(t, false, 1)
  await work.start()
  node.set(true)
  await waitUntil('all have begun', () => calls.length === 2)
  t.same(calls, begun, 'each once')
  t.equal(errors.length, 1)
})
