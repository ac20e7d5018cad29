import t from 'tap'
import { Refusal } from '../../../src/base/mail/refusal.js'
import { reactToLimit } from '../../../src/outbound/broadcasts/contact-expander.js'

const now = Date.parse('2026-03-01T12:00:00.000Z')
const refusal = (details: Readonly<Record<string, unknown>>): Refusal =>
  new Refusal('daily-limit', '5 emails in a day: 0 left', details)

t.test('as many as fit go out', async (t) => {
  t.same(reactToLimit(refusal({ remaining: 7, reset_at: '2026-03-02T00:00:00.000Z' }), 100, now), {
    kind: 'fewer',
    count: 7,
  })
})

t.test('a limit of time is waited for', async (t) => {
  const until = Date.parse('2026-03-02T00:00:00.000Z')
  const note = '5 emails in a day: 0 left'
  t.same(reactToLimit(refusal({ remaining: 0, reset_at: '2026-03-02T00:00:00.000Z' }), 100, now), {
    kind: 'wait',
    until,
    note,
  })
  t.same(
    reactToLimit(refusal({ remaining: 0, reset_at: '2026-03-01T11:59:59.000Z' }), 1, now),
    { kind: 'wait', until: now + 1, note },
    'never until a moment that is over',
  )
})

t.test('credits do not come back with time', async (t) => {
  const reaction = reactToLimit(refusal({ quota: 'credits', remaining: 0, reset_at: null }), 1, now)
  t.same(reaction, { kind: 'pause', note: '5 emails in a day: 0 left' })
})

t.test('more than a limit allows in all does not fit later: one message tells', async (t) => {
  t.same(reactToLimit(refusal({ remaining: 0, reset_at: null }), 50, now), { kind: 'fewer', count: 1 })
})
