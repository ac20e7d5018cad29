/** Outcomes of attempts, and what they mean for deliveries and webhooks. */
import t from 'tap'
import { decideDelivery, decideDisabling } from '../../../src/workspaces/webhooks/decide-delivery.js'
import type { RequestOutcome } from '../../../src/workspaces/webhooks/request-protocol.js'

const schedule = [1, 5, 30, 120, 480].map((minutes) => minutes * 60_000)
const answer = (status: number): RequestOutcome => ({ kind: 'answer', status, body: 'text', took: 1 })
const fault: RequestOutcome = { kind: 'fault', reason: 'the connection was refused' }
const decide = (outcome: RequestOutcome, attempts: number): ReturnType<typeof decideDelivery> =>
  decideDelivery({ outcome, attempts, schedule, now: 1_000 })

t.test('2xx is success', async (t) => {
  for (const status of [200, 201, 204, 299]) {
    t.same(decide(answer(status), 3), {
      status: 'delivered',
      attempts: 3,
      next_attempt_at: null,
      response_status: status,
      response_body: 'text',
      error: null,
      delivered_at: 1_000,
    })
  }
})

t.test('anything else is retried after the next time of the schedule, then it has failed', async (t) => {
  const outcomes = [answer(199), answer(300), answer(302), answer(404), answer(500), answer(599), fault]
  for (const outcome of outcomes) {
    const results = [1, 2, 3, 4, 5, 6].map((attempts) => decide(outcome, attempts))
    t.same(
      results.map(({ next_attempt_at: next }) => next),
      [...schedule.map((wait) => 1_000 + wait), null],
    )
    t.same(
      results.map(({ status }) => status),
      [...Array<string>(5).fill('pending'), 'failed'],
    )
    t.ok(results.every(({ error, delivered_at: at }) => error !== null && at === null))
  }
  t.equal(decide(answer(301), 1).error, 'answered 301; redirects are not followed')
  t.match(decide(fault, 1), { response_status: null, response_body: null, error: 'the connection was refused' })
  t.match(decide(answer(410), 1), { status: 'failed', next_attempt_at: null }, 'what is gone is not retried')
})

t.test('410 and three days of failures disable', async (t) => {
  const threeDays = 3 * 86_400_000
  t.equal(decideDisabling(answer(410), 0, 1), 'gone')
  t.equal(decideDisabling(answer(500), 0, threeDays - 1), null)
  t.equal(decideDisabling(answer(500), 0, threeDays), 'failing')
  t.equal(decideDisabling(fault, 5, threeDays + 5), 'failing')
})
