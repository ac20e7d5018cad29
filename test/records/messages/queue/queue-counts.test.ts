/** What the entries of a workspace's queue are counted as, and that a long queue is counted in part. */
import t from 'tap'
import { countQueue } from '../../../../src/records/messages/queue/queue-counts.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const NOW = 1_000_000
const none = {
  ...{ waiting: 0, sending: 0, deferred: 0, unreachable: 0, scheduled: 0 },
  ...{ held: 0, heldByMembers: 0, paused: 0 },
}

t.test('each entry is counted once, as what it waits for', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const cases: readonly (readonly [set: string, kind: keyof typeof none])[] = [
    ['attempts = 0', 'waiting'],
    [`next_attempt_at = ${NOW}`, 'waiting'],
    [`next_attempt_at = ${NOW + 1}`, 'scheduled'],
    [`leased = 1, next_attempt_at = ${NOW + 1}`, 'sending'],
    [`leased = 1, attempts = 2, next_attempt_at = ${NOW + 1}`, 'sending'],
    [`attempts = 1, next_attempt_at = ${NOW + 1}`, 'deferred'],
    [`attempts = 1, next_attempt_at = ${NOW - 1}`, 'deferred'],
    [`waits_for = 'mx.b.test', next_attempt_at = ${NOW + 1}`, 'unreachable'],
    [`waits_for = 'mx.b.test', attempts = 3, next_attempt_at = ${NOW + 1}`, 'unreachable'],
    ['held = 1, attempts = 4', 'held'],
    [`held = 1, next_attempt_at = ${NOW + 1}`, 'held'],
    ['held = 4', 'held'],
    ['held = 2', 'paused'],
    ['held = 3', 'heldByMembers'],
    ['held = 3, attempts = 1', 'heldByMembers'],
  ]
  const expected = { ...none }
  for (const [set, kind] of cases) {
    const { writes, email } = bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at: 1_000 })
    await commit([...writes, { sql: `update queue set ${set} where email_id = ?`, parameters: [email.id] }])
    expected[kind] += 1
    t.same(await countQueue(read, 'ws_1', NOW), { ...expected, isComplete: true }, set)
  }
  t.same(await countQueue(read, 'ws_2', NOW), { ...none, isComplete: true }, 'of another workspace')
})

t.test('all of 1,000 entries of one moment are counted, and 10,000 of a longer queue', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const to = Array.from({ length: 500 }, (_, place) => `x${place}@b.test`)
  const fill = () => commit(bulkEmail({ workspaceId: 'ws_1', to, at: 1_000 }).writes)
  await fill()
  await fill()
  t.same(await countQueue(read, 'ws_1', NOW), { ...none, waiting: 1_000, isComplete: true })
  for (let more = 0; more < 19; more += 1) await fill()
  t.same(await countQueue(read, 'ws_1', NOW), { ...none, waiting: 10_000, isComplete: false })
})
