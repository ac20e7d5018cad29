/** Leases, webhooks and held prefixes: what of them needs attention. */
import t from 'tap'
import { judgeHold, judgeLeases, judgeWebhooks } from '../../../../src/operations/doctor/checks/work-checks.js'

const HOUR = 3_600_000

t.test('expired leases matter while the daemon runs', async (t) => {
  t.match(judgeLeases({ count: 0, oldestId: null }, true), { state: 'ok' })
  t.match(judgeLeases({ count: 2, oldestId: 'x' }, false), { state: 'ok', text: /the next start/ })
  t.match(judgeLeases({ count: 1, oldestId: 'x' }, true), {
    state: 'fail',
    text: /^1 entry is/,
    remedy: [/show x/, /./],
  })
})

t.test('webhooks may be some events behind', async (t) => {
  t.match(judgeWebhooks({ webhooks: 3, failing: 0, behind: 10_000 }), { state: 'ok' })
  t.match(judgeWebhooks({ webhooks: 3, failing: 0, behind: 10_001 }), { state: 'warn' })
  t.match(judgeWebhooks({ webhooks: 3, failing: 1, behind: 0 }), { state: 'warn' })
})

t.test('a held prefix names the command that ends it', async (t) => {
  const hold = {
    workspace_id: 'ws_1',
    prefix: '+43660',
    held_at: 0,
    until_at: HOUR,
    sent: 40,
    verified: 1,
    released_at: null,
  }
  t.match(judgeHold(hold), { state: 'warn', remedy: [/^posthorn sms release \+43660 --workspace ws_1/] })
})
