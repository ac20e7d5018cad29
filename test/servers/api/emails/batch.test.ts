/** Bounds of a batch. */
import t from 'tap'
import { MemoryBudget } from '../../../../src/base/platform/memory/budget.js'
import { MemoryShares } from '../../../../src/base/platform/memory/shares.js'
import type { PreparedEmail } from '../../../../src/outbound/sending/email-preparer.js'
import { batchRequest, batchRoute } from '../../../../src/servers/api/emails/batch.js'
import { EmailAcceptance, MAX_COMMIT_BYTES } from '../../../../src/servers/api/emails/email-acceptance.js'
import type { StoredPartsDeps } from '../../../../src/servers/api/emails/stored-parts.js'
import { parseInput } from '../../../../src/servers/api/http/input/parse-input.js'
import type { Call } from '../../../../src/servers/api/http/route/route.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

t.test('one email in place of a list is refused with what to send', async (t) => {
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  t.match(await catchRefusal(() => parseInput(batchRequest, email)), {
    kind: 'invalid-parameter',
    message: 'must be a list of emails; send one email to /v1/emails',
  })
})

t.test('the total size of the messages of a batch is bounded', async (t) => {
  let composed = 0
  const prepared = {
    suppressed: [],
    enqueued: { email: { created_at: 0, scheduled_for: null, size: MAX_COMMIT_BYTES / 4 } },
  } as unknown as PreparedEmail
  const compose = (): Promise<PreparedEmail> => {
    composed += 1
    return Promise.resolve(prepared)
  }
  const memory = new MemoryShares(new MemoryBudget(MAX_COMMIT_BYTES), MAX_COMMIT_BYTES)
  const committer = { commit: (): never => t.fail('emails are committed') as never }
  const acceptance = new EmailAcceptance({
    read: () => [],
    hasDiskSpace: () => true,
    refusalOf: async () => null,
    composer: { compose },
    storedParts: { memory } as Partial<StoredPartsDeps> as StoredPartsDeps,
    committer,
  })
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  const { body, run } = batchRoute(acceptance)
  if (body === null) throw new Error('a batch has a body')
  const call = { principal: { workspaceId: 'ws' }, header: () => undefined, now: 0, fingerprint: () => '' }
  const given = parseInput(body, Array(20).fill(email))
  await t.rejects(Promise.resolve(run({ ...call, body: given } as unknown as Call)), {
    name: 'Refusal',
    kind: 'too-large',
  })
  t.equal(composed, 5, 'the others are not composed')
})
