/** What a report says: delivery status notifications (RFC 3464), our own, hostile and endless ones. */
import fc from 'fast-check'
import t from 'tap'
import { type Address, parseAddress } from '../../../../src/base/mail/address.js'
import { readReport } from '../../../../src/inbound/receiving/reports/read-report.js'
import type { Bounce, Report } from '../../../../src/inbound/receiving/reports/report.js'
import { buildDsn } from '../../../../src/records/messages/dsn/dsn.js'
import type { DsnRecipient } from '../../../../src/records/messages/dsn/dsn-report.js'
import {
  bouncesOf,
  readMail,
  readMultipart,
  returnedHeader,
  summarizeBounce,
} from '../../../helpers/receiving/report-mail.js'

const status = ['Reporting-MTA: dns; relay.test', 'Original-Envelope-Id: QQ1', '']

const lena = [
  'Final-Recipient: rfc822; lena@mill.test',
  'Action: failed',
  'Status: 5.1.1',
  'Diagnostic-Code: smtp; 550 5.1.1 <lena@mill.test>: no such',
  ' user: see https://mill.test/help',
]

t.test('a delivery status notification', async (t) => {
  const parts = (...lines: readonly string[]): Report =>
    readMultipart([
      ['text/plain', 'Some words.'],
      ['message/delivery-status', ...lines],
      ['message/rfc822', ...returnedHeader, '', 'Thank you.'],
    ])

  t.test('gives recipient, class, reason, text, envelope id and the returned header', async (t) => {
    const report = parts(...status, ...lena)
    if (report.type !== 'bounce') return t.fail('no bounce')
    t.same(report.bounces, [
      {
        recipient: 'lena@mill.test',
        original: null,
        kind: 'permanent',
        status: '5.1.1',
        reason: 'bad-mailbox',
        recipientsFault: true,
        diagnostic: '550 5.1.1 <lena@mill.test>: no such user: see https://mill.test/help',
      },
    ])
    t.equal(report.envid, 'QQ1')
    t.match(report.reported, [
      { name: 'return-path', value: '<bounce+k3y@mail.app.test>' },
      {},
      {},
      { value: '<42@app.test>' },
    ])
    return undefined
  })

  t.test('has a diagnostic in ISO-2022-JP, declared or not', async (t) => {
    const japanese = ['Final-Recipient: rfc822; lena@mill.test', 'Action: failed', 'Status: 5.1.1']
    const said = 'Diagnostic-Code: smtp; 550 5.1.1 \x1b$B%F%9%H\x1b(B unknown user'
    for (const type of ['message/delivery-status', 'message/delivery-status; charset=iso-2022-jp']) {
      const report = readMultipart([
        ['text/plain', 'Some words.'],
        [type, ...status, ...japanese, said],
      ])
      t.match(bouncesOf(report), [{ recipient: 'lena@mill.test', diagnostic: '550 5.1.1 テスト unknown user' }], type)
    }
  })

  t.test('has a group for each recipient', async (t) => {
    const max = [
      'Original-Recipient: rfc822;max@app.test',
      'Final-Recipient: rfc822; <max@mill.test>',
      'Action: delayed',
      'Status: 4.2.2',
    ]
    const found = bouncesOf(parts(...status, ...lena, '', ...max, 'Diagnostic-Code: smtp; 452 4.2.2 over quota'))
    t.match(found, [{ recipient: 'lena@mill.test' }, { recipient: 'max@mill.test', original: 'max@app.test' }])
    t.match(found[1], { kind: 'delayed', reason: 'mailbox-full', recipientsFault: false })
  })

  t.test('may join recipients, or split one', async (t) => {
    const second = lena.map((line) => line.replace('lena', 'max'))
    t.match(bouncesOf(parts(...status, ...lena, ...second)), [
      { recipient: 'lena@mill.test' },
      { recipient: 'max@mill.test' },
    ])
    const torn = bouncesOf(parts(...status, ...lena.flatMap((line) => (line.startsWith(' ') ? [line] : ['', line]))))
    t.match(torn, [{ recipient: 'lena@mill.test', status: '5.1.1', reason: 'bad-mailbox' }])
    t.equal(torn.length, 1)
  })

  t.test('may name the original recipient alone, or none', async (t) => {
    t.match(bouncesOf(parts('Original-Recipient: rfc822;lena@mill.test', 'Action: failed', 'Status: 5.0.0')), [
      { recipient: 'lena@mill.test', kind: 'permanent', reason: 'unclassified', recipientsFault: false },
    ])
    t.match(bouncesOf(parts(...status, 'Action: failed', 'Status: 4.4.7')), [
      { recipient: null, kind: 'temporary', reason: 'expired' },
    ])
  })

  t.test('of success is no failure', async (t) => {
    for (const action of ['delivered', 'relayed', 'expanded']) {
      const [found] = bouncesOf(
        parts(...status, 'Final-Recipient: rfc822; lena@mill.test', `Action: ${action}`, 'Status: 2.0.0'),
      )
      t.match(found, { kind: 'delivered', reason: null, recipientsFault: false }, action)
    }
  })

  t.test('may lack its status: then the reply decides', async (t) => {
    const unsure = ['Final-Recipient: rfc822; lena@mill.test', 'Action: failed']
    t.equal(
      summarizeBounce(parts(...unsure, 'Diagnostic-Code: smtp; 451 try again later')),
      'lena@mill.test temporary remote-error -',
    )
    t.equal(
      summarizeBounce(parts(...unsure, 'Diagnostic-Code: smtp; 550 unknown user')),
      'lena@mill.test permanent bad-mailbox -',
    )
  })

  t.test('is read if its type is wrong, and if the message has no parts', async (t) => {
    t.equal(
      summarizeBounce(readMultipart([['text/plain', ...status, ...lena]], 'multipart/mixed')),
      'lena@mill.test permanent bad-mailbox 5.1.1',
    )
    t.equal(
      summarizeBounce(readMail(['From: mta@relay.test'], [...status, ...lena])),
      'lena@mill.test permanent bad-mailbox 5.1.1',
    )
    t.equal(
      summarizeBounce(
        readMail(
          ['From: mta@relay.test'],
          lena.map((line) => `  ${line}`),
        ),
      ),
      'lena@mill.test permanent bad-mailbox 5.1.1',
    )
  })

  t.test('may name an address that is not ASCII', async (t) => {
    for (const written of ['utf-8; grü\\x{DF}@mill.test', 'utf-8; grüß@mill.test']) {
      const found = readMultipart([
        [
          'message/global-delivery-status; charset=utf-8',
          `Final-Recipient: ${written}`,
          'Action: failed',
          'Status: 5.1.1',
        ],
      ])
      t.equal(summarizeBounce(found), 'grüß@mill.test permanent bad-mailbox 5.1.1', written)
    }
  })

  t.test('without a diagnostic has its reason from the text for people', async (t) => {
    const found = readMultipart([
      ['text/plain', 'lena@mill.test: the mailbox is full'],
      ['message/delivery-status', ...lena.slice(0, 2), 'Status: 5.0.0'],
    ])
    t.equal(summarizeBounce(found), 'lena@mill.test permanent mailbox-full 5.0.0')
  })

  t.test('inside the returned message is ignored', async (t) => {
    const header = ['From: Lena <lena@mill.test>', 'Content-Type: multipart/mixed; boundary="frontier"']
    const body = [
      '--frontier',
      '',
      'See what came.',
      '--frontier',
      'Content-Type: message/rfc822',
      '',
      ...returnedHeader,
      '',
      ...status,
      ...lena,
      '--frontier--',
    ]
    t.equal(readMail(header, body).type, 'other')
  })
})

t.test('messages that are no bounce', async (t) => {
  const away = ['I am away until Monday. Mail to max@mill.test could not be delivered to him either: 550 unknown user.']
  const automatic = [
    'Auto-Submitted: auto-replied (vacation)',
    'X-Autoreply: yes',
    'X-Autorespond: 1',
    'Precedence: auto_reply',
    'Subject: Out of office: Your order',
    'Subject: =?utf-8?q?Automatische_Antwort=3A_Ihre_Bestellung?=',
    'Auto-Submitted: auto-generated',
  ]
  for (const field of automatic) {
    t.test(`an automatic answer: ${field}`, async (t) => {
      t.same(readMail(['From: Lena <lena@mill.test>', field], away), { type: 'auto-reply' })
    })
  }

  t.test('a read receipt', async (t) => {
    const disposition = [
      'Final-Recipient: rfc822; lena@mill.test',
      'Disposition: automatic-action/MDN-sent-automatically; deleted',
    ]
    t.equal(readMultipart([['message/disposition-notification', ...disposition]]).type, 'auto-reply')
  })

  t.test('a report of success', async (t) => {
    const header = [
      'From: Mail Delivery System <MAILER-DAEMON@relay.test>',
      'Subject: Delivery Status Notification (Success)',
    ]
    t.equal(
      summarizeBounce(readMail(header, ['Your message has been delivered to', '  lena@mill.test'])),
      'lena@mill.test delivered null -',
    )
  })

  t.test('letters of people, whatever they are about', async (t) => {
    t.same(readMail(['From: Lena <lena@mill.test>', 'Subject: Your order', 'Auto-Submitted: no'], away), {
      type: 'other',
    })
    t.same(
      readMail(
        ['From: Lena <lena@mill.test>', 'Subject: hello'],
        ['My message to max@mill.test was not delivered to him, why?'],
      ),
      { type: 'other' },
    )
    t.same(readReport(Buffer.alloc(0)), { type: 'other' })
  })
})

const address = fc
  .tuple(fc.stringMatching(/^[a-z][a-z0-9.-]{0,18}[a-z0-9]$/), fc.constantFrom('mill.test', 'xn--mhle-0ra.test'))
  .map(([local, domain]) => `${local.replace(/\.{2,}/g, '.')}@${domain}`)
  .map(parseAddress)

const words = fc.stringMatching(/^[a-z][a-zé ]{0,60}$/).map((text) => text.trim().replace(/ +/g, ' '))

const recipient: fc.Arbitrary<DsnRecipient> = fc.record({
  address: fc.oneof(address, fc.constant(parseAddress('grüß@mill.test'))),
  orcpt: fc.option(address.map((original) => `rfc822;${original}`)),
  action: fc.constantFrom('failed' as const, 'delayed' as const, 'delivered' as const, 'relayed' as const),
  status: fc.constantFrom('5.1.1', '5.7.26', '4.2.2', '4.4.7'),
  reason: words,
  diagnostic: fc.option(words.map((text) => `550 5.1.1 ${text}`.trim())),
  remoteMta: fc.option(fc.constant('mx.mill.test')),
  lastAttemptAt: fc.option(fc.constant(1_790_000_000_000)),
  willRetryUntil: fc.option(fc.constant(1_790_500_000_000)),
})

t.test('our own reports are read back as they were written', async () => {
  fc.assert(
    fc.property(
      fc.array(recipient, { minLength: 1, maxLength: 5 }),
      fc.constantFrom('failed' as const, 'delayed' as const),
      (recipients, kind) => {
        const dsn = buildDsn({
          kind,
          recipients,
          reportingMta: 'mail.app.test',
          arrivedAt: 1_790_000_000_000,
          envid: 'QQ7',
          ret: null,
          original: Buffer.from([...returnedHeader, '', 'Thank you.', ''].join('\r\n')),
          from: parseAddress('posthorn@mail.app.test'),
          to: parseAddress('app@app.test'),
          now: 1_790_000_000_000,
          messageId: '<7@mail.app.test>',
        })
        const report = readReport(dsn)
        const global = recipients.some((one) => one.address.startsWith('grüß'))
        if (report.type !== 'bounce' || report.envid !== 'QQ7' || report.bounces.length !== recipients.length)
          return false
        return recipients.every((one, index) => {
          const found = report.bounces[index]
          const said = one.diagnostic ?? ''
          return (
            found?.recipient === one.address &&
            found.original === (one.orcpt?.slice('rfc822;'.length) ?? null) &&
            found.kind === kindOf(one) &&
            found.status === one.status &&
            found.diagnostic === (global ? said : said.replace(/[^ -~]/g, '?'))
          )
        })
      },
    ),
  )
})

function kindOf({ action, status: code }: DsnRecipient): Bounce['kind'] {
  if (action === 'delayed') return 'delayed'
  if (action !== 'failed') return 'delivered'
  return code.startsWith('5') ? 'permanent' : 'temporary'
}

t.test('any bytes give a valid result', async () => {
  const pieces = fc.constantFrom(
    '--b',
    '--b--',
    '',
    'Content-Type: multipart/mixed; boundary=b',
    'Content-Type: message/delivery-status',
    'Final-Recipient: rfc822;',
    'Final-Recipient: utf-8; \\x{FFFFFF}@x',
    'Status: 9',
    'Action: failed',
    'Feedback-Type:',
    'X-Failed-Recipients: @',
    '550 <lena@mill.test>',
    'Content-Transfer-Encoding: base64',
    'Content-Type: text/html; charset=nonsense',
    '<a href=',
    '=?utf-8?b?',
    'From: MAILER-DAEMON',
    'Received: x',
    ' \u2028@@<>',
  )
  const lines = fc
    .array(fc.oneof(pieces, fc.string()), { maxLength: 40 })
    .map((parts) => Buffer.from(parts.join('\r\n')))
  const kinds = new Set(['bounce', 'complaint', 'auto-reply', 'other'])
  fc.assert(
    fc.property(
      fc.oneof(
        lines,
        fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
      ),
      (raw) => kinds.has(readReport(raw).type),
    ),
  )
})

t.test('endless input is read up to the limits', async (t) => {
  const head = 'From: MAILER-DAEMON@relay.test\r\nSubject: Returned mail\r\n'
  const group = 'Final-Recipient: rfc822; a@mill.test\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n'
  const nested = Array.from(
    { length: 2_000 },
    (_, index) => `Content-Type: multipart/mixed; boundary="${index}"\r\n\r\n--${index}\r\n`,
  ).join('')
  t.equal(
    bouncesOf(readReport(Buffer.from(`${head}Content-Type: message/delivery-status\r\n\r\n${group.repeat(5_000)}`)))
      .length,
    100,
  )
  t.equal(readReport(Buffer.from(head + nested)).type === 'complaint', false)
  const complainers = Array.from({ length: 4_900 }, (_, n) => `Original-Rcpt-To: a${n}@mill.test\r\n`).join('')
  const complaint = readReport(Buffer.from(`${head}\r\nFeedback-Type: abuse\r\n${complainers}`))
  t.equal(complaint.type === 'complaint' && complaint.recipients.length, 50)
  for (const filler of [
    'a@',
    '<',
    'x@y.test ',
    ' ',
    '\n',
    '550 ',
    '=',
    'message ',
    ';boundary=',
    'to: <',
    '(',
    '-',
    'your ',
  ]) {
    const body = filler.repeat(Math.ceil(1_000_000 / filler.length))
    t.ok(bouncesOf(readReport(Buffer.from(`${head}\r\n${body}`))).length <= 50, JSON.stringify(filler))
    t.ok(['bounce', 'other'].includes(readReport(Buffer.from(`${head}X-Filler: ${body}\r\n\r\nwords`)).type))
  }
})

const known: Address = parseAddress('lena@mill.test')

t.test('an address is matched in any case', async (t) => {
  const report = readMail(
    ['From: MAILER-DAEMON@relay.test', 'X-Failed-Recipients: lena@mill.test'],
    ['LENA@MILL.TEST: 550 unknown user'],
  )
  t.match(bouncesOf(report), [{ recipient: known, reason: 'bad-mailbox' }])
})
