/** Complaints (RFC 5965). */

import t from 'tap'
import type { Report } from '../../../src/receiving/reports/report.js'
import { mail, multipart, returned } from '../../helpers/receiving/report-mail.js'

t.test('a complaint', async (t) => {
  const feedback = [
    'Feedback-Type: abuse',
    'User-Agent: Loop/1',
    'Version: 1',
    'Original-Mail-From: <bounce+k3y@mail.app.test>',
    'Original-Rcpt-To: <lena@mill.test>',
    'Original-Rcpt-To: lena@mill.test',
  ]

  t.test('tells its type, recipients, return path and the header of the message', async (t) => {
    const report = multipart([
      ['text/plain', 'This is an abuse report.'],
      ['message/feedback-report', ...feedback],
      ['message/rfc822', ...returned, '', 'Thank you.'],
    ])
    t.match(report, {
      type: 'complaint',
      feedbackType: 'abuse',
      recipients: ['lena@mill.test'],
      mailFrom: 'bounce+k3y@mail.app.test',
    })
    t.match(report, {
      reported: [
        { name: 'return-path' },
        { name: 'from' },
        { name: 'to' },
        { name: 'message-id', value: '<42@app.test>' },
      ],
    })
  })

  t.test('keeps its type whatever it is, and takes the return path from the message', async (t) => {
    const report = multipart([
      ['message/feedback-report', 'Feedback-Type: Not-Spam', 'Version: 1'],
      ['text/rfc822-headers', ...returned],
    ])
    t.match(report, {
      type: 'complaint',
      feedbackType: 'not-spam',
      recipients: [],
      mailFrom: 'bounce+k3y@mail.app.test',
    })
  })

  t.test("may come as Hotmail's, or as Apple Mail's wish to be left alone", async (t) => {
    const hotmail = mail(
      ['From: staff@hotmail.test', 'Subject: complaint about message from 192.0.2.9', 'Content-Type: message/rfc822'],
      ['X-HmXmrOriginalRecipient: lena@mill.test', ...returned, '', 'Thank you.'],
    )
    t.match(hotmail, { type: 'complaint', feedbackType: 'abuse', recipients: ['lena@mill.test'] })
    t.match(mail(['From: lena@mill.test', 'Subject: unsubscribe', 'X-Apple-Unsubscribe: true'], ['Bye.']), {
      type: 'complaint',
      feedbackType: 'opt-out',
    })
  })
})

const daemon = ['From: MAILER-DAEMON@relay.test', 'Subject: Returned mail']

function multipartLines(type: string, ...parts: readonly (readonly string[])[]): readonly string[] {
  const body = parts.flatMap(([contentType = '', ...lines]) => ['--edge', `Content-Type: ${contentType}`, '', ...lines])
  return [`Content-Type: ${type}; boundary=edge`, '', ...body, '--edge--']
}

/** Header and body of a daemon's message. */
function withParts(type: string, ...parts: readonly (readonly string[])[]): [readonly string[], readonly string[]] {
  const [contentType = '', , ...body] = multipartLines(type, ...parts)
  return [[...daemon, contentType], body]
}

t.test('a complaint that strikes its recipient out is for whom the message went to', async (t) => {
  const complaint = (fields: readonly string[], ...reported: readonly string[]): Report =>
    mail(
      ...withParts(
        'multipart/report',
        ['message/feedback-report', 'Feedback-Type: abuse', 'Version: 0.1', ...fields],
        ['message/rfc822', 'From: shop@app.test', ...reported, '', 'Thank you.'],
      ),
    )
  t.match(complaint(['Redacted-Address: redacted', 'Redacted-Address: redacted@'], 'To: lena@mill.test'), {
    recipients: ['lena@mill.test'],
  })
  t.match(complaint(['Original-Rcpt-To: redacted@aol.test'], 'Delivered-To: lena@mill.test', 'To: team@mill.test'), {
    recipients: ['lena@mill.test'],
  })
  t.match(complaint(['Removal-Recipient: lena@mill.test'], 'To: undisclosed-recipients:;'), {
    recipients: ['lena@mill.test'],
  })
  t.match(complaint([], 'To: [redacted]@mill.test'), { recipients: [] })
})
