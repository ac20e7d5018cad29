import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { readBeatInterval, startWatchdog } from '../../../../src/base/platform/processes/watchdog.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.test('the interval is half of what systemd allows, for the process that it names', async (t) => {
  const cases: readonly (readonly [Record<string, string>, number | null])[] = [
    [{}, null],
    [{ WATCHDOG_USEC: '120000000' }, 60_000],
    [{ WATCHDOG_USEC: '120000000', WATCHDOG_PID: '7' }, 60_000],
    [{ WATCHDOG_USEC: '120000000', WATCHDOG_PID: '8' }, null],
    [{ WATCHDOG_USEC: '0' }, null],
    [{ WATCHDOG_USEC: '-5' }, null],
    [{ WATCHDOG_USEC: 'soon' }, null],
    [{ WATCHDOG_USEC: '1' }, 1],
  ]
  for (const [env, expected] of cases) t.equal(readBeatInterval(env, 7), expected, JSON.stringify(env))
})

t.test('a beat waits until the probe of the one before is answered', async (t) => {
  let beats = 0
  const probes: (() => void)[] = []
  const watchdog = startWatchdog({
    interval: 5,
    probe: () => new Promise((resolve) => void probes.push(resolve)),
    beat: () => {
      beats += 1
    },
  })
  t.teardown(() => watchdog.stop())
  t.equal(beats, 1, 'one at once')
  await sleep(50)
  t.same([beats, probes.length], [1, 1], 'many intervals without an answer')
  probes[0]?.()
  await waitUntil('the second beat', () => beats === 2 && probes.length === 2)
  await sleep(50)
  t.equal(beats, 2, 'again none without an answer')
  watchdog.stopProbes()
  await waitUntil('more beats', () => beats >= 4)
  t.equal(probes.length, 2, 'while the daemon stops, the event loop alone is watched')
})
