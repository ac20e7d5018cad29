import t from 'tap'
import { PaceEstimate } from '../../../../src/outbound/delivery/shaping/pace-estimate.js'
import { pauseTimeOf } from '../../../../src/outbound/delivery/shaping/pause.js'

const fresh = (): PaceEstimate => new PaceEstimate({ rate: null, refusedAt: 0 })

/** `count` messages are taken from one moment to another. */
function taken(estimate: PaceEstimate, count: number, from: number, to: number): void {
  for (let number = 0; number < count; number++) estimate.noteTaken(from + ((to - from) * number) / count)
}

t.test('there is no limit before the first refusal', async (t) => {
  const estimate = fresh()
  for (let number = 0; number < 1_000; number++) t.equal(estimate.take(0), 0)
  t.equal(estimate.rate, null)
})

t.test('what was taken in a cycle with its pause is the estimate, and a little less is sent', async (t) => {
  const estimate = fresh()
  taken(estimate, 600, 100_000, 102_400)
  estimate.noteRefused(102_400)
  estimate.noteRefused(109_900)
  estimate.noteTaken(110_000)
  estimate.noteRecovered(110_000)
  t.ok(Math.abs((estimate.rate ?? 0) - 0.97 * 60) < 1, String(estimate.rate))
})

t.test('time without mail is no part of a cycle', async (t) => {
  const estimate = fresh()
  taken(estimate, 10, 0, 1_000)
  taken(estimate, 100, 500_000, 501_000)
  estimate.noteRefused(501_000)
  estimate.noteTaken(502_000)
  estimate.noteRecovered(502_000)
  t.ok((estimate.rate ?? 0) > 50, String(estimate.rate))
})

t.test('tokens come at the rate, a few at once', async (t) => {
  const estimate = new PaceEstimate({ rate: 10, refusedAt: 0 })
  let sent = 0
  for (let now = 0; now < 10_000; now += 10) while (estimate.take(now) === 0) sent += 1
  t.ok(sent >= 99 && sent <= 104, String(sent))
  t.equal(estimate.take(60_000), 0)
  t.equal(estimate.take(60_000), 0)
  t.ok(estimate.take(60_000) > 0, 'a minute without mail is made up for by 200 ms at most')
})

t.test(
  'the rate grows slowly, then faster while messages wait for it, and is forgotten after a day without a refusal',
  async (t) => {
    const estimate = new PaceEstimate({ rate: 100, refusedAt: 0 })
    const takeAll = (now: number): void => {
      while (estimate.take(now) === 0);
    }
    for (let now = 0; now < 60_000; now += 2) takeAll(now)
    t.ok((estimate.rate ?? 0) > 103 && (estimate.rate ?? 0) < 106, String(estimate.rate))
    for (let now = 60_000; now < 240_000; now += 2) takeAll(now)
    t.ok((estimate.rate ?? 0) > 200 && (estimate.rate ?? 0) < 300, String(estimate.rate))
    estimate.take(86_400_001)
    t.equal(estimate.rate, null)
  },
)

t.test('a rate that nothing waits for does not grow', async (t) => {
  const estimate = new PaceEstimate({ rate: 100, refusedAt: 0 })
  for (let now = 0; now < 240_000; now += 20) t.equal(estimate.take(now), 0)
  t.equal(estimate.rate, 100)
})

t.test('a refusal before anything was taken leaves a small rate, never none', async (t) => {
  const estimate = new PaceEstimate({ rate: 0.02, refusedAt: 0 })
  estimate.noteRefused(0)
  estimate.noteTaken(3_600_000)
  estimate.noteRecovered(3_600_000)
  t.ok((estimate.rate ?? 0) >= 0.01, String(estimate.rate))
})

t.test('pauses grow with the probes that are refused', async (t) => {
  t.same(
    [0, 1, 2, 3].map((probes) => pauseTimeOf('rate', probes)),
    [1_000, 1_400, 1_960, 2_744],
  )
  t.same(
    [0, 1, 2].map((probes) => pauseTimeOf('block', probes)),
    [60_000, 90_000, 135_000],
  )
  t.equal(pauseTimeOf('rate', 1_000), 600_000)
  t.equal(pauseTimeOf('block', 7), 600_000)
  t.equal(pauseTimeOf('block', 1_000), 3_600_000)
})
