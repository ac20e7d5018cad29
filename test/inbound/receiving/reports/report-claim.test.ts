/** Complaints in the forms of large providers: each is found to be about its recipient by one of our tokens. */
import { createSecretKey } from 'node:crypto'
import t from 'tap'
import { type DomainName, parseAddress } from '../../../../src/base/mail/address.js'
import { createReferenceField, createReturnPath } from '../../../../src/base/mail/recipient-token.js'
import { RecipientPolicy } from '../../../../src/inbound/receiving/recipients/recipient-policy.js'
import { verifyClaim } from '../../../../src/inbound/receiving/reports/report-claim.js'
import { messageDigester } from '../../../../src/inbound/receiving/reports/report-digest.js'

const secret = createSecretKey(Buffer.alloc(32, 7))
const policy = new RecipientPolicy({
  hostname: 'mx.service.test' as DomainName,
  zone: 'zone.test' as DomainName,
  secret,
  clock: () => 0,
  domains: { find: async () => undefined },
})
const recipientId = '01a1ff35-3880-7ef5-bbba-0d7e1de2529c'
const path = createReturnPath(secret, recipientId, 'posthorn.a.test' as DomainName)
const reference = createReferenceField(secret, recipientId).trim()

const original = [
  'From: Shop <news@a.test>',
  'To: lena@mill.test',
  'Subject: Offers',
  'Message-ID: <42@a.test>',
  'Date: Sat, 21 Nov 2026 12:00:00 +0000',
]

function multipart(fields: readonly string[], ...parts: readonly (readonly string[])[]): string {
  return [...fields, 'MIME-Version: 1.0', '', ...parts.flatMap((lines) => ['--b1', ...lines]), '--b1--', ''].join(
    '\r\n',
  )
}

const ARF = 'Content-Type: multipart/report; report-type=feedback-report; boundary="b1"'

const feedback = (...fields: readonly string[]): readonly string[] => [
  'Content-Type: message/feedback-report',
  '',
  'Feedback-Type: abuse',
  ...fields,
  '',
]

const encoded = (lines: readonly string[]): readonly string[] =>
  Buffer.from(lines.join('\r\n'))
    .toString('base64')
    .match(/.{1,76}/g) ?? []

const forms: Readonly<Record<string, string>> = {
  "Microsoft's junk mail programme: no ARF, the message attached": multipart(
    [
      'From: staff@hotmail.test',
      'Subject: complaint about message from 192.0.2.9',
      'Content-Type: multipart/mixed; boundary="b1"',
    ],
    [
      'Content-Type: message/rfc822',
      'Content-Disposition: attachment',
      '',
      'X-HmXmrOriginalRecipient: lena@mill.test',
      'X-MS-Exchange-EOPDirect: true',
      'Return-Path: news@a.test',
      reference,
      ...original,
      '',
      'Hello',
    ],
  ),
  "Microsoft's with the return path alone": multipart(
    [
      'From: staff@hotmail.test',
      'Subject: complaint about message from 192.0.2.9',
      'Content-Type: multipart/mixed; boundary=b1',
    ],
    [
      'Content-Type: message/rfc822',
      '',
      'X-HmXmrOriginalRecipient: lena@mill.test',
      `Return-Path: ${path}`,
      ...original,
      '',
      'Hello',
    ],
  ),
  "Yahoo's: ARF with the recipient redacted": multipart(
    ['From: Yahoo! Mail AntiSpam Feedback <feedback@arf.mail.yahoo.test>', 'Subject: FW: Offers', ARF],
    ['Content-Type: text/plain', '', 'This is an email abuse report for an email message from a.test.'],
    feedback(
      'User-Agent: Yahoo!-Mail-Feedback/2.0',
      'Version: 0.1',
      `Original-Mail-From: <${path}>`,
      'Original-Rcpt-To: redacted@yahoo.test',
      'Received-Date: Sat, 21 Nov 2026 12:00:00 GMT',
      'Reported-Domain: a.test',
      'Authentication-Results: atlas.mail.yahoo.test; dkim=pass header.i=@a.test',
    ),
    ['Content-Type: message/rfc822', 'Content-Disposition: inline', '', ...original, '', 'Hello'],
  ),
  'the universal feedback loop (Comcast and others): return path and recipient redacted': multipart(
    ['From: feedbackloop@fbl.validity.test', 'Subject: Comcast Abuse Report', ARF],
    ['Content-Type: text/plain; charset="US-ASCII"', '', 'This is a Comcast Abuse Report.'],
    feedback(
      'User-Agent: ReturnPathFBL/2.0',
      'Version: 1',
      'Original-Mail-From: <redacted@posthorn.a.test>',
      'Original-Rcpt-To: 0123456789abcdef0123456789abcdef@comcast.test',
      'Abuse-Type: complaint',
      'Source-IP: 192.0.2.9',
      'Subscription-Link: https://fbl.validity.test/manage/subscriptions/1',
    ),
    [
      'Content-Type: message/rfc822',
      '',
      'Return-Path: <redacted@posthorn.a.test>',
      reference,
      ...original.map((line) => line.replace('lena@mill', 'redacted@comcast')),
      '',
      'Hello',
    ],
  ),
  "Mail.ru's: the header alone, folded": multipart(
    ['From: fbl@corp.mail.test', 'Subject: =?utf-8?B?0JbQsNC70L7QsdCw?=', ARF],
    ['Content-Type: text/plain; charset=utf-8', '', 'complaint'],
    feedback('User-Agent: Mail.Ru-FBL/1.0', 'Version: 1', 'Original-Rcpt-To: lena@mail.test', 'Incidents: 1'),
    [
      'Content-Type: text/rfc822-headers',
      '',
      'Received: from x',
      ' by y',
      reference.replace(': ', ':\r\n '),
      ...original,
    ],
  ),
  'the message as base64': multipart(['From: fbl@provider.test', 'Subject: report', ARF], feedback('Version: 1'), [
    'Content-Type: message/rfc822',
    'Content-Transfer-Encoding: base64',
    '',
    ...encoded([reference, ...original, '', 'Hello']),
  ]),
  'the report forwarded by a gateway': multipart(
    ['From: abuse-desk@provider.test', 'Subject: Fwd: report', 'Content-Type: multipart/mixed; boundary="b1"'],
    ['Content-Type: text/plain', '', 'See below.'],
    [
      'Content-Type: message/rfc822',
      '',
      ...multipart([ARF.replace('b1', 'b2')], feedback('Version: 1'), [
        'Content-Type: text/rfc822-headers',
        '',
        reference,
        ...original,
      ])
        .replaceAll('--b1', '--b2')
        .split('\r\n'),
    ],
  ),
}

const digest = async (raw: string) => messageDigester.digest(Buffer.from(raw), { envelopeFrom: 'fbl@provider.test' })

for (const [form, raw] of Object.entries(forms)) {
  t.test(form, async (t) => {
    t.same(await verifyClaim(policy, parseAddress('fbl@zone.test'), await digest(raw)), {
      kind: 'complaint',
      recipientId,
      feedbackType: 'abuse',
    })
  })
}

t.test('without one of our tokens no form acts', async (t) => {
  for (const raw of Object.values(forms)) {
    const forged = raw.replaceAll(path, 'bounce+x@posthorn.a.test').replaceAll(/X-Posthorn-Reference/g, 'X-Reference')
    if (forged === raw) continue
    t.match(await verifyClaim(policy, parseAddress('fbl@zone.test'), await digest(forged)), {
      kind: 'none',
      why: 'no-token',
    })
  }
})
