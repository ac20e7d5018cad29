/** Leases, webhooks, held prefixes and backups: what of them needs attention. */
import t from 'tap'
import {
  type BackupFile,
  judgeBackups,
  judgeHold,
  judgeLeases,
  judgeWebhooks,
} from '../../../src/doctor/checks/work-checks.js'
import type { FindingState } from '../../../src/doctor/finding.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const now = 100 * DAY

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

t.test('the age of the newest backup', async (t) => {
  const file = (age: number, name = 'a.db', size = 1): BackupFile => ({ name, at: now - age, size })
  const table: readonly (readonly [string, readonly BackupFile[], readonly FindingState[]])[] = [
    ['none', [], ['fail']],
    ['an empty one', [file(0, 'a.db', 0)], ['fail']],
    ['young', [file(50 * DAY), file(2 * DAY, 'b.db')], ['ok']],
    ['old', [file(2 * DAY + 1)], ['warn']],
    ['three times too old', [file(6 * DAY + 1)], ['fail']],
    ['half-written now', [file(0), file(HOUR, 'b.db.partial-7')], ['ok']],
    ['half-written long ago', [file(0), file(HOUR + 1, 'b.db.partial-7')], ['warn', 'ok']],
  ]
  for (const [what, files, states] of table) {
    const found = judgeBackups('/b', files, { now, maxAge: 2 * DAY })
    t.same(
      found.map(({ state }) => state),
      states,
      what,
    )
  }
})
