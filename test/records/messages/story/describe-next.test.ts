/** The words for what was reported later, and for what comes next. */
import t from 'tap'
import type { AttemptDetails, RecipientDetails } from '../../../../src/records/messages/email-details.js'
import { describeLaterReport, describeNext } from '../../../../src/records/messages/story/describe-next.js'

const attempt: AttemptDetails = {
  ...{ number: 1, at: 'a', duration_ms: 5, mx: 'mx.b.test', address: null, tls: null, next_attempt_at: null },
  ...{ outcome: 'deferred', reason: null, response: '450 later' },
}

const recipientWith = (more: Partial<RecipientDetails>): RecipientDetails => ({
  ...{ id: 'r', email: 'bob@b.test', status: 'queued', attempts: [], last_response: null, reason: null, mx: null },
  ...{ next_attempt_at: null, waits_for: null, held: false, held_by: null, delivered_at: null, transcript: null },
  ...more,
})

t.test('what comes next', (t) => {
  const at = '2030-01-01T00:00:00.000Z'
  const cases: readonly (readonly [Partial<RecipientDetails>, string | null])[] = [
    [{ next_attempt_at: at }, `first attempt ${at}`],
    [{ next_attempt_at: at, attempts: [attempt] }, `next attempt ${at}`],
    [{}, 'being attempted now'],
    [{ waits_for: 'its broadcast' }, 'waits for its broadcast'],
    [{ waits_for: 'x', next_attempt_at: at }, `waits for x, which is not called before ${at}; no attempt is counted`],
    [{ held: true, held_by: 'operator', next_attempt_at: at }, 'held'],
    [{ held: true, held_by: 'workspace', next_attempt_at: at }, 'held by the workspace'],
    [{ status: 'delivered' }, null],
    [{ status: 'cancelled' }, null],
  ]
  for (const [recipient, expected] of cases) {
    const next = describeNext(recipientWith(recipient))
    t.equal(next === null ? null : `${next.before}${next.at ?? ''}${next.after}`, expected)
  }
  t.end()
})

t.test('what was reported after the last attempt', (t) => {
  const sent = { attempts: [{ ...attempt, outcome: 'delivered' as const, response: '250 ok' }] }
  const cases: readonly (readonly [Partial<RecipientDetails>, string | null])[] = [
    [{ ...sent, status: 'delivered', last_response: '250 ok' }, null],
    [
      { ...sent, status: 'bounced', reason: 'mailbox-full', last_response: '5.2.2 full' },
      'reported later, now bounced (mailbox-full): 5.2.2 full',
    ],
    [{ ...sent, status: 'bounced', last_response: '250 ok' }, 'reported later, now bounced'],
    [{ ...sent, status: 'delivered', last_response: 'read' }, 'reported later: read'],
    [{ attempts: [attempt], status: 'bounced', last_response: 'x' }, null],
    [{ status: 'failed', last_response: 'x' }, null],
  ]
  for (const [recipient, expected] of cases) t.equal(describeLaterReport(recipientWith(recipient)), expected)
  t.end()
})
