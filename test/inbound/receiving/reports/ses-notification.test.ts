/** Notifications of Amazon SES in JSON. */

import t from 'tap'
import type { Report } from '../../../../src/inbound/receiving/reports/report.js'
import { bouncesOf, readMail } from '../../../helpers/receiving/report-mail.js'

t.test('a notification of Amazon SES', async (t) => {
  const headers = ['From: AWS Notifications <no-reply@sns.test>', 'Subject: AWS Notification Message']
  const message = {
    headers: [
      { name: 'X-Posthorn-Reference', value: 'r3f' },
      { name: 'To', value: 'lena@mill.test' },
    ],
  }
  const trailer = ['', '--', 'If you wish to stop receiving these, visit https://sns.test/unsubscribe']
  const parse = (content: Record<string, unknown>): Report =>
    readMail(headers, [JSON.stringify({ ...content, mail: message }), ...trailer])
  const bounce = (bounceType: string, bounceSubType: string, ...bouncedRecipients: readonly unknown[]): Report =>
    parse({ notificationType: 'Bounce', bounce: { bounceType, bounceSubType, bouncedRecipients } })
  const lena = { emailAddress: 'Lena <lena@mill.test>' }

  t.test('of a bounce', async (t) => {
    const dead = { ...lena, action: 'failed', status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1 user unknown' }
    t.match(bounce('Permanent', 'General', dead, { emailAddress: 'max@mill.test', status: '5.2.2' }), {
      bounces: [
        {
          recipient: 'lena@mill.test',
          kind: 'permanent',
          status: '5.1.1',
          reason: 'bad-mailbox',
          recipientsFault: true,
        },
        { recipient: 'max@mill.test', kind: 'permanent', reason: 'mailbox-full', recipientsFault: false },
      ],
      reported: [{ name: 'x-posthorn-reference', value: 'r3f' }, { name: 'to' }],
    })
    t.match(bouncesOf(bounce('Permanent', 'NoEmail', lena)), [{ reason: 'bad-mailbox', recipientsFault: true }])
    t.match(bouncesOf(bounce('Permanent', 'General', lena)), [{ reason: 'unclassified', recipientsFault: false }])
    t.match(bouncesOf(bounce('Transient', 'MailboxFull', lena)), [{ kind: 'temporary', reason: 'mailbox-full' }])
    t.match(bouncesOf(bounce('Transient', 'NoEmail', lena)), [{ kind: 'temporary', recipientsFault: false }])
    t.match(bouncesOf(bounce('Undetermined', 'Undetermined', lena)), [{ kind: 'temporary', reason: 'unclassified' }])
  })

  t.test('of a delay, a delivery, a complaint', async (t) => {
    const delayedRecipients = [{ ...lena, status: '4.4.1', diagnosticCode: '450 4.4.1 no answer from host' }]
    t.match(bouncesOf(parse({ eventType: 'DeliveryDelay', deliveryDelay: { delayedRecipients } })), [
      { recipient: 'lena@mill.test', kind: 'delayed', reason: 'unreachable' },
    ])
    t.match(
      bouncesOf(
        parse({ notificationType: 'Delivery', delivery: { recipients: ['lena@mill.test'], smtpResponse: '250 ok' } }),
      ),
      [{ recipient: 'lena@mill.test', kind: 'delivered', reason: null }],
    )
    const complaint = { complainedRecipients: [lena], complaintFeedbackType: 'abuse' }
    t.match(parse({ notificationType: 'Complaint', complaint }), {
      type: 'complaint',
      feedbackType: 'abuse',
      recipients: ['lena@mill.test'],
    })
  })

  t.test('in an envelope, or with lines that a relay has broken', async (t) => {
    const content = JSON.stringify({
      notificationType: 'Bounce',
      bounce: { bounceType: 'Permanent', bouncedRecipients: [lena] },
    })
    t.equal(readMail(headers, [JSON.stringify({ Type: 'Notification', Message: content })]).type, 'bounce')
    t.equal(readMail(headers, [content.replace('lena@', 'le!\r\n na@'), ...trailer]).type, 'bounce')
  })

  t.test('of anything else, or of nothing, is ignored', async (t) => {
    for (const text of [
      '{"eventType":"Open"}',
      '{"notificationType":',
      '{"notificationType":7}',
      '[]',
      '{"Message":"{"}',
      '{"Message":"[]"}',
    ])
      t.equal(readMail(['From: x@y.test', 'Subject: hello'], [text]).type, 'other', text)
    const odd = {
      notificationType: 'Bounce',
      bounce: { bouncedRecipients: [null, 1, 'x', { emailAddress: 5, status: {} }] },
    }
    t.match(bouncesOf(readMail(headers, [JSON.stringify(odd)])), [
      { recipient: null, reason: 'unclassified', recipientsFault: false },
    ])
  })
})
