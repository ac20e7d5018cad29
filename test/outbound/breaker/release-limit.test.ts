import t from 'tap'
import { createReleaseLimit } from '../../../src/outbound/breaker/release-limit.js'

t.test('a workspace cannot release its mail after every hold', async (t) => {
  const limit = createReleaseLimit()
  const noon = Date.UTC(2026, 6, 1, 12)
  for (let release = 0; release < 12; release += 1) {
    limit.check('ws_1', noon)
    limit.count('ws_1', noon)
  }
  t.throws(() => limit.check('ws_1', noon), /too often/)
  t.doesNotThrow(() => limit.check('ws_2', noon))
  t.throws(() => limit.check('ws_1', noon + 5 * 3_600_000))
  t.doesNotThrow(() => limit.check('ws_1', noon + 7 * 3_600_000))
})
