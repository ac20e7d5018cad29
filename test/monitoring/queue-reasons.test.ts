import fc from 'fast-check'
import t from 'tap'
import { queueStatuses } from '../../src/messages/queue/queue-admin.js'
import { reasonOfEntry } from '../../src/messages/queue/queue-reason.js'
import { queueReasonOf, queueReasons } from '../../src/monitoring/queue-reasons.js'

type Entry = Parameters<typeof reasonOfEntry>[0]

const entry = (change: Partial<Entry> = {}): Entry => ({
  leased: 0,
  held: 0,
  waits_for: null,
  last_response: null,
  ...change,
})

const cases: readonly (readonly [Entry, (typeof queueStatuses)[number], string])[] = [
  [entry({ held: 1 }), 'held', 'held'],
  [entry({ held: 2 }), 'held', 'paused'],
  [entry({ leased: 1 }), 'sending', 'sending'],
  [entry({ waits_for: 'mx.b.test: connection refused' }), 'deferred', 'hosts-down'],
  [entry(), 'scheduled', 'scheduled'],
  [entry(), 'queued', 'untried'],
  [entry({ last_response: '452 4.2.2 over quota' }), 'deferred', 'mailbox-full'],
  [entry({ last_response: '451 4.7.1 later' }), 'deferred', 'policy'],
  [entry({ last_response: '451 later' }), 'deferred', 'remote-error'],
  [entry({ last_response: '421 4.7.0 too much' }), 'deferred', 'policy'],
  [entry({ last_response: '499 what is this' }), 'deferred', 'unclassified'],
  [entry({ last_response: 'the connection was lost' }), 'deferred', 'unclassified'],
]

t.test('the reason of an entry as one word', async (t) => {
  for (const [each, state, word] of cases)
    t.equal(queueReasonOf(reasonOfEntry(each, state)), word, JSON.stringify(each))
})

t.test('whatever a server replies, the word is in the list', async () => {
  const reply = fc.oneof(
    fc.string(),
    fc.tuple(fc.integer({ min: 200, max: 599 }), fc.string()).map((p) => p.join(' ')),
  )
  fc.assert(
    fc.property(reply, fc.constantFrom(...queueStatuses), (text, state) => {
      const word = queueReasonOf(reasonOfEntry(entry({ last_response: text }), state))
      if (!queueReasons.includes(word)) throw new Error(word)
    }),
  )
})
