/** Each format expresses each type that it claims to know. What receivers make of it: test/journeys/webhook-formats. */
import t from 'tap'
import { eventTypes } from '../../../../src/records/events/payloads.js'
import { composeEvent, isKnownType, requireKnownTypes } from '../../../../src/workspaces/webhooks/formats/formats.js'
import { webhookFormats } from '../../../../src/workspaces/webhooks/settings/choices.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

const data = {
  ...{ email_id: 'e1', from: 'app@a.test', to: 'bob@b.test', subject: 'hi', reason: 'spam_complaint', response: '' },
  ...{ tags: { tag: ['one', 'two'], customer: '42' }, bounce_type: 'soft', bounce_subtype: 'mailbox-full' },
  ...{ bounce_reason: '452 4.2.2 full', attempts: 3, inbound_email_id: 'in_1', attachments: [] },
}
const eventOf = (type: string) => ({
  ...{ id: 'evt_1', type, createdAt: 1_700_000_000_000, at: 1_700_000_060_000, secret: 'whsec_AAAA', email: null },
  data: JSON.stringify(data),
})

t.test('what a format knows it can write, the same at each attempt', async (t) => {
  for (const format of webhookFormats) {
    for (const type of [...eventTypes, 'webhook.test'].filter((each) => isKnownType(format, each))) {
      const { body } = composeEvent(format, eventOf(type))
      t.equal(composeEvent(format, eventOf(type)).body.toString(), body.toString(), `${format} ${type}`)
      if (format !== 'raw') t.doesNotThrow(() => JSON.parse(body.toString()))
    }
  }
})

t.test('an email that is gone has the tags of its event', async (t) => {
  const write = (format: 'postmark' | 'sendgrid' | 'mailgun', type: string): unknown =>
    JSON.parse(composeEvent(format, eventOf(type)).body.toString())
  t.match(write('postmark', 'email.bounced'), {
    ...{ Tag: 'one', Metadata: { customer: '42' }, Type: 'SoftBounce', TypeCode: 4096, ID: Number },
  })
  t.match(write('sendgrid', 'email.bounced'), [
    { category: ['one', 'two'], customer: '42', event: 'bounce', type: 'blocked', status: '4.2.2' },
  ])
  t.match(write('sendgrid', 'email.suppressed'), [{ event: 'dropped', reason: 'Spam Reporting Address' }])
  t.match(write('mailgun', 'email.bounced'), {
    signature: { timestamp: '1700000060', token: /^[0-9a-f]{50}$/ },
    'event-data': {
      ...{ event: 'failed', severity: 'permanent', tags: ['one', 'two'], 'user-variables': { customer: '42' } },
      'delivery-status': { code: 452, 'enhanced-code': '4.2.2', 'attempt-no': 3 },
    },
  })
  t.match(write('mailgun', 'email.deferred'), { 'event-data': { event: 'failed', severity: 'temporary' } })
  t.match(write('mailgun', 'email.suppressed'), {
    'event-data': { reason: 'suppress-complaint', 'delivery-status': { code: 607 } },
  })
  t.match(write('mailgun', 'email.complained'), { 'event-data': { 'log-level': 'warn', recipient: 'bob@b.test' } })
})

t.test('a webhook that would get nothing is refused', async (t) => {
  t.match(await catchRefusal(() => requireKnownTypes('postmark', ['email.queued'])), {
    kind: 'invalid-parameter',
    message: /^events: the format "postmark" has none of these types; it has: email\./,
  })
  t.doesNotThrow(() => requireKnownTypes('postmark', ['email.queued', 'email.bounced']))
  t.doesNotThrow(() => requireKnownTypes('posthorn', ['email.queued']))
})
