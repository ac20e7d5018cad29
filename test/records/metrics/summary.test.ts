/** Totals and rates, by the definitions of the interface. */
import t from 'tap'
import { ratesOf, summarize } from '../../../src/records/metrics/summary.js'

const none = {
  ...{ scheduled: 0, queued: 0, sent: 0, delivered: 0, complained: 0, bounced: 0, failed: 0, cancelled: 0 },
  ...{ opens: 0, unique_opens: 0, clicks: 0, unique_clicks: 0, machine_opens: 0, machine_clicks: 0 },
}

t.test('each status is in the totals that include it', async (t) => {
  const every = {
    scheduled: 1,
    queued: 2,
    sent: 4,
    delivered: 8,
    complained: 16,
    bounced: 32,
    failed: 64,
    cancelled: 128,
  }
  t.match(summarize({ ...none, ...every }), {
    ...{ total: 255, sent: 4 + 8 + 16 + 32, delivered: 8 + 16, bounced: 32, failed: 64, queued: 2, scheduled: 1 },
  })
  t.notOk('cancelled' in summarize(none))
})

t.test('rates are percentages with two decimals', async (t) => {
  const cases: readonly [
    sums: Partial<typeof none>,
    rates: readonly [delivery: number, bounce: number, open: number, click: number],
  ][] = [
    [{}, [0, 0, 0, 0]],
    [{ failed: 3, cancelled: 1 }, [0, 0, 0, 0]],
    [{ delivered: 2, bounced: 1 }, [66.67, 33.33, 0, 0]],
    [{ delivered: 2, complained: 1, unique_opens: 1, unique_clicks: 2, opens: 90 }, [100, 0, 33.33, 66.67]],
    [{ sent: 7, delivered: 1, machine_opens: 9 }, [12.5, 0, 0, 0]],
    [{ bounced: 1, unique_opens: 1 }, [0, 100, 0, 0]],
    [{ delivered: 1, bounced: 1, unique_opens: 2, unique_clicks: 2 }, [50, 50, 100, 100]],
  ]
  for (const [sums, [delivery_rate, bounce_rate, open_rate, click_rate]] of cases) {
    t.same(ratesOf(summarize({ ...none, ...sums })), { delivery_rate, bounce_rate, open_rate, click_rate })
  }
})
