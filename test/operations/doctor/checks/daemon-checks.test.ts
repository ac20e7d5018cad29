/** Does the daemon run, by what is left of it; and how long its event loop may make others wait. */
import t from 'tap'
import type { DaemonStatus } from '../../../../src/base/platform/processes/daemon-status.js'
import { version } from '../../../../src/base/platform/version.js'
import {
  type DaemonState,
  judgeDaemon,
  judgeEventLoop,
  judgeSettings,
} from '../../../../src/operations/doctor/checks/daemon-checks.js'
import type { FindingState } from '../../../../src/operations/doctor/finding.js'

const now = Date.UTC(2026, 0, 2)
const status: DaemonStatus = {
  ...{ pid: 7, version, started_at: '2026-01-01T00:00:00.000Z', updated_at: new Date(now).toISOString() },
  ...{ node: null, rss: 1, heap_used: 1, attempts_under_way: 0, commits: 0 },
  event_loop_delay_ms: { p50: 1, p99: 2, max: 3 },
  sessions: { submission: 0, mx: 0, api: 0 },
  rates: { commits_per_second: 0, main_thread_load: 0.1 },
}

t.test('the daemon', async (t) => {
  const late = { ...status, updated_at: new Date(now - 60_000).toISOString() }
  const table: readonly (readonly [Partial<DaemonState>, FindingState, RegExp])[] = [
    [{ status: null, isHeld: false }, 'warn', /no daemon runs/],
    [{ status, isHeld: false }, 'fail', /without a stop/],
    [{ status: null, isHeld: true }, 'warn', /starts/],
    [{ status: late, isHeld: true }, 'fail', /has not written its status/],
    [{ status: { ...status, version: '0.0.1' }, isHeld: true }, 'warn', /version 0\.0\.1/],
    [{ status, isHeld: true }, 'ok', /process 7/],
  ]
  for (const [state, expected, text] of table) {
    t.match(judgeDaemon({ folder: '/d', now, status, isHeld: true, ...state }), { state: expected, text })
  }
})

t.test('settings that the daemon does not have yet', async (t) => {
  const waiting = [
    { key: 'submission.listen_tls', inForce: [], needs: 'restart' },
    { key: 'log.level', inForce: 'info', needs: 'reload' },
  ] as const
  t.match(judgeSettings('posthorn.toml', waiting), [
    {
      state: 'warn',
      text: 'submission.listen_tls has changed since the start',
      remedy: ['systemctl restart posthorn'],
    },
    { state: 'warn', text: 'log.level has changed since the last reload', remedy: ['systemctl reload posthorn'] },
  ])
})

t.test('delays of the event loop', async (t) => {
  const table: readonly (readonly [p99: number, max: number, FindingState])[] = [
    [99, 999, 'ok'],
    [100, 100, 'warn'],
    [2, 1_000, 'warn'],
    [1_000, 1_000, 'fail'],
  ]
  for (const [p99, max, state] of table) {
    t.equal(judgeEventLoop({ ...status, event_loop_delay_ms: { p50: 1, p99, max } }).state, state, `${p99} ${max}`)
  }
})
