/** Bounces written for people only, by families of mail systems. */

import t from 'tap'
import { readReport } from '../../../../src/inbound/receiving/reports/read-report.js'
import { bouncesOf, readMail, returnedHeader, summarizeBounce } from '../../../helpers/receiving/report-mail.js'

/** Family, sender, lines of the report, expected result. */
const families: readonly (readonly [family: string, from: string, lines: readonly string[], found: string])[] = [
  [
    'qmail',
    'MAILER-DAEMON@relay.test',
    [
      'Hi. This is the qmail-send program at relay.test.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      '',
      '<lena@mill.test>:',
      '192.0.2.4 does not like recipient.',
      'Remote host said: 550 5.1.1 unknown user',
      'Giving up on 192.0.2.4.',
      '',
      '--- Below this line is a copy of the message.',
    ],
    'lena@mill.test permanent bad-mailbox 5.1.1',
  ],
  [
    'Exim',
    'Mailer-Daemon@relay.test',
    [
      'This message was created automatically by mail delivery software.',
      'A message that you sent could not be delivered to one or more of its recipients.',
      'The following address(es) failed:',
      '',
      '  lena@mill.test',
      '    host mx.mill.test [192.0.2.4]',
      '    SMTP error from remote mail server after RCPT TO:<lena@mill.test>:',
      '    552 5.2.2 mailbox over quota',
      '',
      '------ This is a copy of the message, including all the headers. ------',
    ],
    'lena@mill.test permanent mailbox-full 5.2.2',
  ],
  [
    'Exim, given up for its age',
    'Mailer-Daemon@relay.test',
    [
      'This message was created automatically by mail delivery software.',
      '  lena@mill.test',
      '    retry timeout exceeded',
      '------ This is a copy of the message, including all the headers. ------',
    ],
    'lena@mill.test temporary expired -',
  ],
  [
    'sendmail',
    'Mail Delivery Subsystem <MAILER-DAEMON@relay.test>',
    [
      '   ----- Transcript of session follows -----',
      '550 <lena@mill.test>... User unknown',
      '',
      '   ----- Unsent message follows -----',
    ],
    'lena@mill.test permanent bad-mailbox -',
  ],
  [
    'Postfix of old',
    'MAILER-DAEMON@relay.test',
    [
      'This is the Postfix program at host relay.test.',
      'Your message could not be delivered to one or more recipients.',
      '<lena@mill.test>: host mx.mill.test[192.0.2.4] said: 554 5.7.1 Your address is listed by zen.bl.test, a blocklist (in reply to',
      '    RCPT TO command)',
    ],
    'lena@mill.test permanent spam-block 5.7.1',
  ],
  [
    'Exchange',
    'System Administrator <postmaster@mill.test>',
    [
      'Your message',
      '',
      '  To:      team@mill.test',
      '  Subject: Order',
      '',
      'did not reach the following recipient(s):',
      '',
      'lena@mill.test on Mon, 2 Nov 2026 10:00:00 +0100',
      '    The recipient name is not recognized',
    ],
    'lena@mill.test permanent bad-mailbox -',
  ],
  [
    'Office 365',
    'postmaster@mill.test',
    [
      'Delivery has failed to these recipients or groups:',
      '',
      'lena@mill.test',
      '',
      'Diagnostic information for administrators:',
      "Remote Server returned '550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found'",
      '',
      'Original message headers:',
    ],
    'lena@mill.test permanent bad-mailbox 5.1.10',
  ],
  [
    'Notes',
    'postmaster@mill.test',
    [
      '------- Failure Reasons  --------',
      '',
      'User not listed in public Name & Address Book',
      'lena@mill.test',
      '',
      '------- Returned Message --------',
    ],
    'lena@mill.test permanent bad-mailbox -',
  ],
  [
    'IMail',
    'Postmaster <postmaster@mill.test>',
    ['User mailbox exceeds allowed size: lena@mill.test', '', 'Original message follows.'],
    'lena@mill.test permanent mailbox-full -',
  ],
  [
    'IMail',
    'Postmaster <postmaster@mill.test>',
    ['Delivery failed 20 attempts: lena@mill.test', '', 'Original message follows.'],
    'lena@mill.test temporary expired -',
  ],
  [
    'MDaemon',
    'MDaemon@mill.test',
    [
      'The following message was not delivered:',
      'Failed recipient: lena@mill.test',
      '--- Session Transcript ---',
      '<-- 550 5.1.1 unknown user',
      '--- End Transcript ---',
    ],
    'lena@mill.test permanent bad-mailbox 5.1.1',
  ],
  [
    'Courier',
    '"Courier mail server at relay.test" <postmaster@relay.test>',
    [
      'This is a delivery status notification from relay.test,',
      'running the Courier mail server.',
      '',
      '<lena@mill.test>:',
      '     mx.mill.test [192.0.2.4]:',
      ' <<< 450 4.2.0 come back later',
    ],
    'lena@mill.test temporary remote-error 4.2.0',
  ],
  [
    'Gmail',
    'Mail Delivery Subsystem <mailer-daemon@googlemail.test>',
    [
      'Delivery to the following recipient failed permanently:',
      '',
      '     lena@mill.test',
      '',
      'Technical details of permanent failure:',
      'The email account that you tried to reach does not exist.',
      '',
      '----- Original message -----',
    ],
    'lena@mill.test permanent bad-mailbox -',
  ],
  [
    'a warning',
    'Mail Delivery Subsystem <mailer-daemon@relay.test>',
    [
      'THIS IS A WARNING MESSAGE ONLY.',
      'Delivery to the following recipient has been delayed:',
      '     lena@mill.test',
      'Message will be retried for 2 more day(s)',
    ],
    'lena@mill.test delayed unclassified -',
  ],
  [
    'DragonFly',
    'MAILER-DAEMON <>',
    [
      'There was an error delivering your mail to <lena@mill.test>.',
      '',
      'mx.mill.test [192.0.2.4] did not like our RCPT TO:',
      '525 5.7.13 account is disabled',
      '',
      'Message headers follow.',
    ],
    'lena@mill.test permanent mailbox-disabled 5.7.13',
  ],
  [
    'a gateway with words of its own',
    'no-reply@mill.test',
    ['Your mail could not be delivered to: <lena@mill.test>', 'as their mailbox is full.'],
    'lena@mill.test permanent mailbox-full -',
  ],
  [
    'Apache James',
    'postmaster@mill.test',
    [
      'Hi. This is the James mail server at mill.test.',
      'Error message below:',
      '550 5.1.1 unknown user',
      'RCPT TO: lena@mill.test',
    ],
    'lena@mill.test permanent bad-mailbox 5.1.1',
  ],
  [
    'a gateway to telephones',
    'post_master@mms.test',
    ['Message could not be delivered to mobile.', 'Error: No valid recipients for this MM', 'To: lena@mill.test'],
    'lena@mill.test permanent bad-mailbox -',
  ],
  [
    'Google Groups',
    'Mail Delivery Subsystem <mailer-daemon@googlemail.test>',
    [
      'Hello,',
      'the group lena@mill.test takes no mail from you.',
      'https://groups.google.com/support/',
      '----- Original message -----',
    ],
    'lena@mill.test permanent policy -',
  ],
  [
    'OpenSMTPD',
    'Mailer Daemon <MAILER-DAEMON@relay.test>',
    [
      'Hi! This is the MAILER-DAEMON, please DO NOT REPLY to this email.',
      'An error has occurred while attempting to deliver a message for',
      'the following list of recipients:',
      '',
      'lena@mill.test: 550 5.2.2 over quota',
      '',
      'Below is a copy of the original message:',
    ],
    'lena@mill.test permanent mailbox-full 5.2.2',
  ],
  [
    'Domino',
    'postmaster@mill.test',
    [
      'Your message',
      '  Subject: Order',
      'was not delivered to:',
      '  lena@mill.test',
      'because:',
      '  User lena (lena@mill.test) not listed in Domino Directory',
    ],
    'lena@mill.test permanent bad-mailbox -',
  ],
  [
    'a program that speaks German',
    'postmaster@mill.test',
    ['Ihre Nachricht an lena@mill.test konnte nicht zugestellt werden:', 'Das Postfach ist voll.'],
    'lena@mill.test permanent mailbox-full -',
  ],
  [
    'a program that speaks Japanese',
    'postmaster@mill.test',
    ['以下のメールアドレスへの送信に失敗しました。', 'lena@mill.test', 'メールボックスが一杯です。'],
    'lena@mill.test permanent mailbox-full -',
  ],
  [
    'a report without an address',
    'MAILER-DAEMON@relay.test',
    ['Some host said: 550 5.7.1 no thanks'],
    'lena@mill.test permanent policy 5.7.1',
  ],
]

t.test('bounces without a machine-readable part', async (t) => {
  for (const [family, from, lines, found] of families) {
    t.test(`of ${family}: ${found}`, async (t) => {
      const subject = family.startsWith('a gateway') ? 'Mail delivery failed' : 'Returned mail'
      const header = [`From: ${from}`, 'To: bounce+k3y@mail.app.test', `Subject: ${subject}`]
      t.equal(
        summarizeBounce(readMail(header, [...lines, '', ...returnedHeader, '', 'Thank you, lars@mill.test'])),
        found,
      )
    })
  }

  t.test('give each recipient its own reply', async (t) => {
    const body = [
      'Hi. This is the qmail-send program at relay.test.',
      '',
      '<lena@mill.test>:',
      'Remote host said: 550 5.1.1 unknown user',
      '',
      '<max@mill.test>:',
      'Remote host said: 452 4.2.2 mailbox full',
      '',
    ]
    t.match(bouncesOf(readMail(['From: MAILER-DAEMON@relay.test'], body)), [
      { recipient: 'lena@mill.test', kind: 'permanent', reason: 'bad-mailbox' },
      { recipient: 'max@mill.test', kind: 'temporary', reason: 'mailbox-full' },
    ])
  })

  t.test('are recognized by X-Failed-Recipients alone', async (t) => {
    const report = readMail(
      ['From: helper@mill.test', 'X-Failed-Recipients: lena@mill.test', 'Auto-Submitted: auto-replied'],
      ['Nope.'],
    )
    t.equal(summarizeBounce(report), 'lena@mill.test permanent unclassified -')
  })

  t.test('name the address before an alias', async (t) => {
    const body = [
      'This message was created automatically by mail delivery software.',
      '',
      '  lena@mill.test',
      '    (generated from sales@mill.test)',
      '    550 unknown user',
    ]
    t.match(bouncesOf(readMail(['From: Mailer-Daemon@relay.test'], body)), [
      { recipient: 'lena@mill.test', original: 'sales@mill.test' },
    ])
  })

  t.test('may be HTML alone, encoded, or in another charset', async (t) => {
    const html = [
      '<p>Your message couldn&#39;t be delivered</p>',
      '<p>The mailbox of <a href="mailto:lena@mill.test">lena@mill.test</a> is full</p>',
    ]
    const asHtml = readMail(
      [
        'From: postmaster@mill.test',
        'Subject: Undeliverable: Order',
        'Content-Type: text/html',
        'Content-Transfer-Encoding: base64',
      ],
      [Buffer.from(html.join('\n')).toString('base64')],
    )
    t.equal(summarizeBounce(asHtml), 'lena@mill.test permanent mailbox-full -')
    const latin = Buffer.from(
      'Content-Type: text/plain; charset=iso-8859-1\r\nFrom: postmaster@mill.test\r\nSubject: Unzustellbar\r\n\r\nlena@mill.test: Empf\xe4nger unbekannt\r\n',
      'latin1',
    )
    t.equal(summarizeBounce(readReport(latin)), 'lena@mill.test permanent bad-mailbox -')
  })
})
