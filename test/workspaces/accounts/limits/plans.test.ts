/** Limits of requests that several nodes divide. */
import t from 'tap'
import { shareOfNode } from '../../../../src/workspaces/accounts/limits/plans.js'

t.test('nodes divide the rates of requests, and no quota of emails', async (t) => {
  const limits = { requests_per_second: 10, burst: 20, requests_per_minute: 500, emails_per_day: 7, credits: 5 }
  t.equal(shareOfNode(limits, 1), limits)
  t.same(shareOfNode(limits, 3), {
    ...{ requests_per_second: 4, burst: 7, requests_per_minute: 167 },
    ...{ emails_per_day: 7, credits: 5 },
  })
  t.same(shareOfNode({}, 3), {}, 'a limit that a plan does not have stays absent')
})
