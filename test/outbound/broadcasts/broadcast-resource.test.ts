/** Counts and rates of a broadcast, from the numbers of its emails in each status. */
import fc from 'fast-check'
import t from 'tap'
import {
  type BroadcastCounts,
  ratesOfBroadcast,
  toTotals,
} from '../../../src/outbound/broadcasts/broadcast-resource.js'

const none: BroadcastCounts = {
  ...{ recipients: 0, scheduled: 0, queued: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, cancelled: 0 },
  ...{ complained: 0, unique_opens: 0, unique_clicks: 0, unsubscribed: 0 },
}

const table: readonly (readonly [Partial<BroadcastCounts>, object, object])[] = [
  [{}, { recipients: 0, sent: 0, delivered: 0 }, { delivery_rate: 0, bounce_rate: 0, open_rate: 0 }],
  [
    { recipients: 4, queued: 4 },
    { recipients: 4, queued: 4, sent: 0 },
    { delivery_rate: 0, bounce_rate: 0 },
  ],
  [
    { recipients: 3, delivered: 2, bounced: 1, unique_opens: 1, unsubscribed: 1 },
    { sent: 3, delivered: 2, bounced: 1 },
    { delivery_rate: 66.67, bounce_rate: 33.33, open_rate: 50, click_rate: 0, unsubscribe_rate: 50 },
  ],
  [
    { recipients: 6, delivered: 2, complained: 1, failed: 1, cancelled: 1, sent: 1, unique_clicks: 1 },
    { sent: 4, delivered: 3, complained: 1, failed: 1, cancelled: 1 },
    { delivery_rate: 75, bounce_rate: 0, click_rate: 33.33 },
  ],
  // Opened behind a smarthost, or bounced after it was opened.
  [{ recipients: 3, sent: 2, delivered: 1, unique_opens: 3 }, { sent: 3, delivered: 1 }, { open_rate: 100 }],
  [
    { recipients: 1, bounced: 1, unique_opens: 1 },
    { sent: 1, delivered: 0 },
    { open_rate: 0, bounce_rate: 100 },
  ],
]

t.test('counts and rates', async (t) => {
  for (const [counts, totals, rates] of table) {
    const found = toTotals({ ...none, ...counts })
    t.match(found, totals, JSON.stringify(counts))
    t.match(ratesOfBroadcast(found), rates)
  }
})

t.test('no rate is below 0 or above 100, or has more than two decimals', async (t) => {
  const count = fc.nat(2_000_000)
  const counts = fc.record(Object.fromEntries(Object.keys(none).map((name) => [name, count])))
  fc.assert(
    fc.property(counts, (found) => {
      const rates = Object.values(ratesOfBroadcast(toTotals({ ...none, ...found })))
      return rates.every((rate) => rate >= 0 && rate <= 100 && Math.abs(rate * 100 - Math.round(rate * 100)) < 1e-6)
    }),
  )
  t.pass()
})
