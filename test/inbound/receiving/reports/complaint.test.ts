/** Complaints (feedback reports, RFC 5965). */

import t from 'tap'
import type { Report } from '../../../../src/inbound/receiving/reports/report.js'
import { readMail, readMultipart, returnedHeader } from '../../../helpers/receiving/report-mail.js'

t.test('a complaint', async (t) => {
  const feedback = [
    'Feedback-Type: abuse',
    'User-Agent: Loop/1',
    'Version: 1',
    'Original-Mail-From: <bounce+k3y@mail.app.test>',
    'Original-Rcpt-To: <lena@mill.test>',
    'Original-Rcpt-To: lena@mill.test',
  ]

  t.test('gives its type, recipients, return path and the header of the message', async (t) => {
    const report = readMultipart([
      ['text/plain', 'This is an abuse report.'],
      ['message/feedback-report', ...feedback],
      ['message/rfc822', ...returnedHeader, '', 'Thank you.'],
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
    const report = readMultipart([
      ['message/feedback-report', 'Feedback-Type: Not-Spam', 'Version: 1'],
      ['text/rfc822-headers', ...returnedHeader],
    ])
    t.match(report, {
      type: 'complaint',
      feedbackType: 'not-spam',
      recipients: [],
      mailFrom: 'bounce+k3y@mail.app.test',
    })
  })

  t.test("may be Hotmail's, or Apple Mail's request to unsubscribe", async (t) => {
    const hotmail = readMail(
      ['From: staff@hotmail.test', 'Subject: complaint about message from 192.0.2.9', 'Content-Type: message/rfc822'],
      ['X-HmXmrOriginalRecipient: lena@mill.test', ...returnedHeader, '', 'Thank you.'],
    )
    t.match(hotmail, { type: 'complaint', feedbackType: 'abuse', recipients: ['lena@mill.test'] })
    const from = 'From: "admin@other.test" (boss@other.test) <lena@mill.test>'
    const optOut = readMail([from, 'Subject: unsubscribe', 'X-Apple-Unsubscribe: true'], ['Bye.'])
    t.match(optOut, { type: 'complaint', feedbackType: 'opt-out', recipients: ['lena@mill.test'] })
    t.equal(optOut.type === 'complaint' ? optOut.recipients.length : 0, 1)
  })
})

const daemon = ['From: MAILER-DAEMON@relay.test', 'Subject: Returned mail']

function multipartLines(type: string, ...parts: readonly (readonly string[])[]): readonly string[] {
  const body = parts.flatMap(([contentType = '', ...lines]) => ['--edge', `Content-Type: ${contentType}`, '', ...lines])
  return [`Content-Type: ${type}; boundary=edge`, '', ...body, '--edge--']
}

/** Header and body of a message from a mail system. */
function withParts(type: string, ...parts: readonly (readonly string[])[]): [readonly string[], readonly string[]] {
  const [contentType = '', , ...body] = multipartLines(type, ...parts)
  return [[...daemon, contentType], body]
}

t.test('a complaint with its recipient removed is for the recipient of the returned message', async (t) => {
  const complaint = (fields: readonly string[], ...reported: readonly string[]): Report =>
    readMail(
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
