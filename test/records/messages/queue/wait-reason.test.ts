/** Reasons that entries of the queue share. */
import fc from 'fast-check'
import t from 'tap'
import { describeEntry } from '../../../../src/records/messages/queue/wait-reason.js'

const entry = {
  ...({ leased: 0, held: 0, attempts: 0, recipient_status: 'queued' } as const),
  ...{ waits_for: null, last_response: null, reason: null },
}

t.test('the state, the host that is waited for, or the codes of the reply', async (t) => {
  const cases = [
    [{}, 'not tried yet'],
    [{ recipient_status: 'scheduled' }, 'scheduled for later'],
    [{ held: 1 }, 'held by the operator'],
    [{ held: 2 }, 'waits for its broadcast, which is paused'],
    [{ held: 3 }, 'held by a member of its workspace'],
    [{ held: 4, waits_for: 'hold rule r (to b.test)' }, 'held by hold rule r (to b.test)'],
    [{ leased: 1 }, 'being sent'],
    [{ waits_for: 'mx.b.test: timeout' }, 'waits for mx.b.test: timeout'],
    [{ waits_for: 'Google blocks our address: 421 4.7.0 no' }, 'waits: Google blocks our address: 421 4.7.0 no'],
    [{ waits_for: 'a.test is warming up at Google: 2 of 2 today' }, 'a.test is warming up at Google: 2 of 2 today'],
    [{ attempts: 1, last_response: '451 4.7.1 Greylisted' }, 'answer 451 4.7.1'],
    [{ attempts: 1, last_response: '450-4.2.0 a\n450 4.2.0 b' }, 'answer 450 4.2.0'],
    [{ attempts: 1, last_response: '421 too busy' }, 'answer 421'],
    [{ attempts: 1, last_response: '4512 no code' }, '4512 no code'],
    [{ attempts: 1, last_response: 'no answer from mx.b.test' }, 'no answer from mx.b.test'],
  ] as const
  for (const [more, expected] of cases) t.equal(describeEntry({ ...entry, ...more }), expected)
})

t.test('any reply gives a short reason', async () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 2_000 }), (reply) => {
      const reason = describeEntry({ ...entry, attempts: 1, last_response: reply })
      return reason.length <= 160
    }),
  )
})
