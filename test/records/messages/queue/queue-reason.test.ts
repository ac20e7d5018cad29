/** Reasons that entries of the queue share. */
import fc from 'fast-check'
import t from 'tap'
import { reasonOfEntry } from '../../../../src/records/messages/queue/queue-reason.js'

const entry = { leased: 0, held: 0, waits_for: null, last_response: null } as const

t.test('the state, the host that is waited for, or the codes of the reply', async (t) => {
  const cases = [
    [{}, 'queued', 'not tried yet'],
    [{}, 'scheduled', 'scheduled for later'],
    [{ held: 1 }, 'held', 'held by the operator'],
    [{ held: 2 }, 'held', 'waits for its broadcast, which is paused'],
    [{ held: 3 }, 'held', 'held by a member of its workspace'],
    [{ leased: 1 }, 'sending', 'being sent'],
    [{ waits_for: 'mx.b.test: timeout' }, 'deferred', 'waits for mx.b.test: timeout'],
    [{ last_response: '451 4.7.1 Greylisted' }, 'deferred', 'answer 451 4.7.1'],
    [{ last_response: '450-4.2.0 a\n450 4.2.0 b' }, 'deferred', 'answer 450 4.2.0'],
    [{ last_response: '421 too busy' }, 'deferred', 'answer 421'],
    [{ last_response: '4512 no code' }, 'deferred', '4512 no code'],
    [{ last_response: 'no answer from mx.b.test' }, 'deferred', 'no answer from mx.b.test'],
  ] as const
  for (const [more, state, expected] of cases) t.equal(reasonOfEntry({ ...entry, ...more }, state), expected)
})

t.test('any reply gives a short reason', async () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 2_000 }), (reply) => {
      const reason = reasonOfEntry({ ...entry, last_response: reply }, 'deferred')
      return reason.length <= 160
    }),
  )
})
