/** What the figures of a scope mean: at each limit, and one beyond. */
import t from 'tap'
import {
  type BreakerLimits,
  describeFinding,
  type Figures,
  judgeFigures,
  percentOf,
} from '../../../src/outbound/breaker/judge-figures.js'

const limits: BreakerLimits = {
  ...{ bounce_warn_percent: 5, bounce_hold_percent: 10, complaint_warn_percent: 0.1, complaint_hold_percent: 0.3 },
  ...{ min_messages: 100, min_bounces: 10, min_delivered: 1_000, min_complaints: 3 },
}

const nothing: Figures = { settled: 0, bounced: 0, delivered: 0, complained: 0 }

t.test('bounces and complaints', async (t) => {
  const rows: readonly (readonly [Partial<Figures>, string, string?])[] = [
    [{}, 'ok'],
    [{ settled: 1_000, bounced: 50 }, 'ok'],
    [{ settled: 1_000, bounced: 51 }, 'warning', 'bounces'],
    [{ settled: 1_000, bounced: 100 }, 'warning', 'bounces'],
    [{ settled: 1_000, bounced: 101 }, 'held', 'bounces'],
    [{ settled: 99, bounced: 99 }, 'ok'],
    [{ settled: 100, bounced: 9 }, 'ok'],
    [{ settled: 100, bounced: 10 }, 'warning', 'bounces'],
    [{ settled: 100, bounced: 11 }, 'held', 'bounces'],
    [{ settled: 100, bounced: 300 }, 'held', 'bounces'],
    [{ delivered: 200, complained: 1 }, 'ok'],
    [{ delivered: 999, complained: 999 }, 'ok'],
    [{ delivered: 1_000, complained: 2 }, 'ok'],
    [{ delivered: 1_000, complained: 3 }, 'warning', 'complaints'],
    [{ delivered: 1_000, complained: 4 }, 'held', 'complaints'],
    [{ delivered: 3_000, complained: 3 }, 'ok'],
    [{ delivered: 2_999, complained: 3 }, 'warning', 'complaints'],
    [{ settled: 1_000, bounced: 51, delivered: 1_000, complained: 3 }, 'warning', 'bounces'],
    [{ settled: 1_000, bounced: 51, delivered: 1_000, complained: 4 }, 'held', 'complaints'],
    [{ settled: 1_000, bounced: 101, delivered: 1_000, complained: 3 }, 'held', 'bounces'],
  ]
  for (const [figures, state, cause] of rows) {
    t.match(
      judgeFigures({ ...nothing, ...figures }, limits),
      cause === undefined ? { state } : { state, cause },
      JSON.stringify(figures),
    )
  }
})

t.test('a finding has the limit that it is over, and no share beyond the whole', async (t) => {
  t.same(judgeFigures({ ...nothing, settled: 1_000, bounced: 101 }, limits), {
    ...{ state: 'held', cause: 'bounces', messages: 1_000, failures: 101, limitPercent: 10 },
  })
  t.match(judgeFigures({ ...nothing, settled: 100, bounced: 300 }, limits), { messages: 300, failures: 300 })
})

t.test('in words', async (t) => {
  t.equal(percentOf({ messages: 1_000, failures: 124 }), 12.4)
  t.equal(percentOf({ messages: 0, failures: 0 }), 0)
  const bounces = { cause: 'bounces', messages: 1_000, failures: 124 } as const
  t.equal(describeFinding(bounces), '12.4 % of 1,000 messages of the last day bounced')
  const complaints = { cause: 'complaints', messages: 12_000, failures: 40 } as const
  t.equal(describeFinding(complaints), '0.33 % of 12,000 messages of the last 7 days were reported as spam')
})
