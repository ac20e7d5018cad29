/** The history of an email in sentences, for each state that a recipient can have. */
import t from 'tap'
import { explainEmail } from '../../../src/operations/mcp/explain-email.js'

const at = '2030-01-31T09:00:00.000Z'
const attempt = { number: 1, at, duration_ms: 12, mx: 'mx.b.test', tls: 'TLSv1.3', next_attempt_at: null }
const recipient = { last_response: null, mx: null, next_attempt_at: null, delivered_at: null, attempts: 1 }

const record = {
  ...{ id: '01a1ff35-3880-7ef5-bbba-0d7e1de2529c', message_id: '<a@b>', from: 'app@a.test', subject: 'a "quote"' },
  ...{ to: [], cc: [], bcc: [], reply_to: [], html: null, text: null, headers: {}, tags: [], attachments: [] },
  ...{ tracking: { open: false, click: false }, priority: 'normal', template_id: null, status: 'bounced' },
  ...{ created_at: at, scheduled_for: '2030-02-01T09:00:00.000Z', sent_at: null, delivered_at: null, opened_at: null },
  ...{ clicked_at: null, bounced_at: at },
  recipient_counts: {
    ...{ queued: 1, sent: 0, delivered: 0, bounced: 1, failed: 0, suppressed: 1, cancelled: 0, complained: 0 },
  },
  recipients: [
    {
      ...{ ...recipient, email: 'bob@b.test', status: 'bounced' },
      attempt_log: [{ ...attempt, outcome: 'bounced', reason: 'bad-mailbox', response: '550 no such user' }],
    },
    {
      ...{ ...recipient, email: 'carol@b.test', status: 'queued', next_attempt_at: at },
      attempt_log: [
        { ...attempt, mx: null, tls: null, outcome: 'deferred', reason: 'a-later-word', response: 'timed out' },
        { ...attempt, number: 2, tls: null, outcome: 'deferred', reason: null, response: '451 later' },
      ],
    },
    { ...recipient, email: 'dan@b.test', status: 'suppressed', attempt_log: [] },
    { ...recipient, email: 'eve@b.test', status: 'queued', attempt_log: [] },
  ],
}

t.test('each recipient and each attempt has its sentence', async (t) => {
  t.same(String(explainEmail(record)).split('\n'), [
    `The email ${record.id} from app@a.test with the subject "a \\"quote\\"" was accepted at ${at}. Its status is bounced.`,
    'It was scheduled for 2030-02-01T09:00:00.000Z.',
    '',
    'Recipient bob@b.test: bounced.',
    `Attempt 1 at ${at} at mx.b.test over TLSv1.3: bounced (bad-mailbox). The mailbox does not exist. Reply: 550 no such user`,
    '',
    'Recipient carol@b.test: queued.',
    `Attempt 1 at ${at} reached no host: deferred (a-later-word). Reply: timed out`,
    `Attempt 2 at ${at} at mx.b.test without TLS: deferred. Reply: 451 later`,
    `The next attempt is at ${at}.`,
    '',
    'Recipient dan@b.test: suppressed.',
    'It is on the suppression list, so nothing was sent.',
    '',
    'Recipient eve@b.test: queued.',
    'There was no attempt yet.',
  ])
})

t.test('a record of another form is not changed', async (t) => {
  const later = { ...record, status: 'a-later-word' }
  t.equal(explainEmail(later), later)
})
