/** Bounds of a batch. */
import t from 'tap'
import { type BatchDeps, batchRoute, MAX_BATCH_BYTES } from '../../../src/api/emails/batch.js'
import { parseInput } from '../../../src/api/http/input/input.js'
import type { Call } from '../../../src/api/http/route.js'

t.test('the messages of a batch are bounded together', async (t) => {
  let composed = 0
  const prepared = {
    raw: Buffer.alloc(MAX_BATCH_BYTES / 4),
    suppressed: [],
    enqueued: { email: { created_at: 0, scheduled_for: null } },
  }
  const compose = () => {
    composed += 1
    return prepared
  }
  const mayTake = () => true
  const stored = () => ({ uses: () => [], hold: () => undefined, release: () => undefined })
  const deps = { read: () => [], mayTake, refusalOf: () => null, compose, stored, take: () => t.fail('taken') }
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  const { body, run } = batchRoute(deps as unknown as BatchDeps)
  if (body === null) throw new Error('a batch has a body')
  const call = { principal: { workspaceId: 'ws' }, header: () => undefined, now: 0, rawBody: Buffer.alloc(0) }
  const given = parseInput(body, Array(20).fill(email))
  await t.rejects(Promise.resolve(run({ ...call, body: given } as unknown as Call)), {
    name: 'Refusal',
    kind: 'too-large',
  })
  t.equal(composed, 5, 'the others are not composed')
})
