import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { findFields, readFieldValue, scanHeader } from '../../../../src/base/mail/header-fields.js'
import { buildDsn, type Dsn, shouldSendDsn } from '../../../../src/records/messages/dsn/dsn.js'
import type { DsnRecipient } from '../../../../src/records/messages/dsn/dsn-report.js'
import { oddMessages } from '../../../fixtures/odd-messages.js'
import { checkForm } from '../../../helpers/mail/check-form.js'

const original = Buffer.from(
  'From: App <app@example.test>\r\nTo: bob@example.net\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n' +
    'Message-ID: <1@example.test>\r\n\r\nthe text\r\n',
)

const failed: DsnRecipient = {
  address: parseAddress('bob@example.net'),
  orcpt: 'rfc822;Bob@example.net',
  action: 'failed',
  status: '5.1.1',
  reason: 'The mailbox does not exist.',
  diagnostic: '550 5.1.1 no such user',
  remoteMta: 'mx.example.net',
  lastAttemptAt: Date.UTC(2026, 10, 21, 1, 2, 4),
  willRetryUntil: null,
}

const delayed: DsnRecipient = { ...failed, action: 'delayed', status: '4.4.1', willRetryUntil: Date.UTC(2026, 10, 25) }

const report: Dsn = {
  kind: 'failed',
  reportingMta: 'mail.example.test',
  arrivedAt: Date.UTC(2026, 10, 21, 1, 2, 3),
  envid: 'QQ314159',
  ret: null,
  original,
  recipients: [failed],
  from: parseAddress('posthorn@mail.example.test'),
  to: parseAddress('app@example.test'),
  now: Date.UTC(2026, 10, 21, 2),
  messageId: '<2@mail.example.test>',
}

/** The three parts, without boundary lines, as they stand in the message. */
function parts(dsn: Dsn): readonly { readonly type: string; readonly encoding: string; readonly body: string }[] {
  const whole = buildDsn(dsn).toString('utf8')
  const boundary = /boundary="([^"]+)"/.exec(whole)?.[1] ?? 'none'
  const pieces = whole.split(`--${boundary}`)
  if (pieces.at(-1) !== '--\r\n') throw new Error('the last boundary is missing')
  return pieces.slice(1, -1).map((piece) => {
    const [head = '', ...rest] = piece.slice(2, -2).split('\r\n\r\n')
    const type = /^Content-Type: (.*)$/im.exec(head)?.[1] ?? ''
    return { type, encoding: /^Content-Transfer-Encoding: (.*)$/im.exec(head)?.[1] ?? '', body: rest.join('\r\n\r\n') }
  })
}

const status = (dsn: Dsn): string => parts(dsn)[1]?.body ?? ''
const text = (dsn: Dsn): string => parts(dsn)[0]?.body ?? ''

t.test('which sender gets which report', (t) => {
  const rows = [
    [null, 'failed', true],
    [null, 'delayed', true],
    [null, 'success', false],
    [['never'], 'failed', false],
    [['never'], 'delayed', false],
    [['never'], 'success', false],
    [['failure'], 'failed', true],
    [['failure'], 'delayed', false],
    [['success', 'delay'], 'delayed', true],
    [['success', 'delay'], 'success', true],
    [['success', 'delay'], 'failed', false],
  ] as const
  for (const [notify, kind, expected] of rows) t.equal(shouldSendDsn(notify, kind), expected, `${notify} ${kind}`)
  t.end()
})

t.test('the header identifies the report and refers to the message', (t) => {
  const raw = buildDsn(report)
  const header = scanHeader(raw)
  const value = (name: string): string =>
    findFields(header, name)
      .map((field) => readFieldValue(raw, field))
      .join('|')
  t.equal(value('from'), 'Mail Delivery System <posthorn@mail.example.test>')
  t.equal(value('to'), '<app@example.test>')
  t.equal(value('subject'), 'Your message could not be delivered')
  t.equal(value('date'), 'Sat, 21 Nov 2026 02:00:00 +0000')
  t.equal(value('message-id'), '<2@mail.example.test>')
  t.equal(value('references'), '<1@example.test>')
  t.equal(value('auto-submitted'), 'auto-replied')
  t.match(value('content-type'), /^multipart\/report; report-type=delivery-status; boundary="=_[0-9a-f]{32}"$/)
  t.equal(value('content-transfer-encoding'), '8bit', 'the subject is quoted in UTF-8')
  t.end()
})

t.test('the machine-readable part', (t) => {
  t.equal(
    status(report),
    [
      'Original-Envelope-Id: QQ314159',
      'Reporting-MTA: dns; mail.example.test',
      'Arrival-Date: Sat, 21 Nov 2026 01:02:03 +0000',
      '',
      'Original-Recipient: rfc822;Bob@example.net',
      'Final-Recipient: rfc822; bob@example.net',
      'Action: failed',
      'Status: 5.1.1',
      'Remote-MTA: dns; mx.example.net',
      'Diagnostic-Code: smtp; 550 5.1.1 no such user',
      'Last-Attempt-Date: Sat, 21 Nov 2026 01:02:04 +0000',
      '',
    ].join('\r\n'),
  )
  t.end()
})

t.test('the text for people', (t) => {
  t.equal(
    text(report),
    [
      'This is the mail server mail.example.test.',
      '',
      'Your message "Grüße" of Sat, 21 Nov 2026 01:02:03 +0000 could not be',
      'delivered to:',
      '',
      '  bob@example.net',
      '      The mailbox does not exist.',
      '      mx.example.net answered: 550 5.1.1 no such user',
      '',
      'The server will not try again.',
      '',
      'The message is attached.',
      '',
    ].join('\r\n'),
  )
  t.end()
})

t.test('a report of a delay says until when attempts continue', (t) => {
  const dsn: Dsn = { ...report, kind: 'delayed', recipients: [delayed] }
  t.match(status(dsn), /\r\nAction: delayed\r\nStatus: 4\.4\.1\r\n/)
  t.match(status(dsn), /\r\nWill-Retry-Until: Wed, 25 Nov 2026 00:00:00 \+0000\r\n$/)
  t.match(
    text(dsn).replaceAll('\r\n', ' '),
    'The server will try again until Wed, 25 Nov 2026 00:00:00 +0000. You do not need to send',
  )
  t.notMatch(status({ ...report, recipients: [{ ...delayed, action: 'failed' }] }), /Will-Retry-Until/)
  t.end()
})

t.test('a report of success distinguishes delivered from relayed', (t) => {
  const reached = {
    ...failed,
    status: '2.0.0',
    reason: 'The server accepted the message.',
    diagnostic: '250 2.0.0 queued',
  }
  const delivered: Dsn = { ...report, kind: 'success', recipients: [{ ...reached, action: 'delivered' }] }
  t.match(buildDsn(delivered).toString(), '\r\nSubject: Your message was delivered\r\n')
  t.notMatch(text(delivered), /no delivery reports/)
  const relayed: Dsn = { ...delivered, recipients: [{ ...reached, action: 'relayed' }] }
  t.match(buildDsn(relayed).toString(), '\r\nSubject: Your message was passed on\r\n')
  t.match(status(relayed), /Action: relayed/)
  t.match(text(relayed), /no delivery reports/)
  t.end()
})

t.test('several recipients are several groups; our own diagnostics are not of type SMTP', (t) => {
  const lost = { ...failed, orcpt: null, diagnostic: 'no such domain', remoteMta: null, lastAttemptAt: null }
  const groups = status({ ...report, envid: null, recipients: [failed, lost] }).split('\r\n\r\n')
  t.equal(groups.length, 3)
  t.equal(groups[0], 'Reporting-MTA: dns; mail.example.test\r\nArrival-Date: Sat, 21 Nov 2026 01:02:03 +0000')
  t.equal(
    groups[2],
    'Final-Recipient: rfc822; bob@example.net\r\nAction: failed\r\nStatus: 5.1.1\r\n' +
      'Diagnostic-Code: x-posthorn; no such domain\r\n',
  )
  t.end()
})

t.test('a failure returns the message, any other report its header', (t) => {
  const header = original.toString().split('\r\n\r\n')[0]
  const returned = (dsn: Dsn): readonly [string | undefined, string | undefined] => {
    const part = parts(dsn)[2]
    return [part?.type, part?.body]
  }
  const whole = ['message/rfc822', original.toString()]
  const alone = ['text/rfc822-headers', `${header}\r\n`]
  t.strictSame(returned(report), whole)
  t.strictSame(returned({ ...report, ret: 'full' }), whole)
  t.strictSame(returned({ ...report, ret: 'headers' }), alone)
  t.strictSame(returned({ ...report, kind: 'delayed', ret: 'full' }), alone)
  t.strictSame(returned({ ...report, kind: 'success', ret: 'full' }), alone)
  t.strictSame(returned({ ...report, original: Buffer.concat([original, Buffer.alloc(52_000, 'x\r\n')]) }), alone)
  t.match(text({ ...report, ret: 'headers' }), /The header of the message is attached\./)
  t.end()
})

t.test('if the header is very long, its first fields are returned', (t) => {
  const long = Buffer.concat([Buffer.from(`A: 1\r\nB: ${'x'.repeat(60_000)}\r\n`), original])
  t.equal(parts({ ...report, original: long })[2]?.body, 'A: 1\r\n')
  t.end()
})

t.test('addresses in UTF-8 make it a global report', (t) => {
  const address = parseAddress('jörg@example.net')
  const dsn: Dsn = { ...report, recipients: [{ ...failed, address, orcpt: 'utf-8;jörg@example.net' }] }
  t.match(parts(dsn)[1], { type: 'message/global-delivery-status', encoding: '8bit' })
  t.match(status(dsn), /Original-Recipient: utf-8;jörg@example\.net\r\nFinal-Recipient: utf-8; jörg@example\.net\r\n/)
  const utf8 = Buffer.from('Subject: Grüße\r\n\r\ntext\r\n')
  t.equal(parts({ ...dsn, original: utf8 })[2]?.type, 'message/global')
  t.equal(parts({ ...dsn, original: utf8, ret: 'headers' })[2]?.type, 'message/global-headers')
  t.match(parts({ ...report, original: Buffer.from('A: b\r\n\r\nGrüße') })[2], {
    type: 'message/rfc822',
    encoding: '8bit',
  })
  t.end()
})

t.test('the text of a server stays within its field', (t) => {
  const diagnostic = `550 a\r\nStatus: 2.0.0\r\n\r\nFinal-Recipient: x\u2028\0\u202e ü ${'long '.repeat(100)}${'y'.repeat(2000)}`
  const dsn: Dsn = { ...report, recipients: [{ ...failed, diagnostic, reason: diagnostic }] }
  const groups = status(dsn).split('\r\n\r\n')
  t.equal(groups.length, 2)
  t.notMatch(groups[1], /\r\n(?:Status: 2|Final-Recipient: x)/)
  t.match(groups[1], /\r\nDiagnostic-Code: smtp; 550 a Status: 2\.0\.0 Final-Recipient: x \? long/)
  t.equal(checkForm(buildDsn(dsn), { maxLineOctets: 998 }).kind, 'ok')
  t.end()
})

const texts = fc.string({
  unit: fc.constantFrom('a', ' ', '\r\n', '\n', ':', 'ü', '😀', '\u2028', '\0', '--', 'word '),
  maxLength: 80,
})

const anyDsn: fc.Arbitrary<Dsn> = fc
  .record({ diagnostic: texts, reason: texts, envid: texts, remoteMta: fc.option(texts), subject: texts, orcpt: texts })
  .map(({ diagnostic, reason, envid, remoteMta, subject, orcpt }) => ({
    ...report,
    envid,
    original: Buffer.from(`Subject: ${subject.replace(/[\r\n\0]/g, '')}\r\n\r\nbody\r\n`),
    recipients: [{ ...failed, diagnostic, reason, remoteMta, orcpt: `rfc822;${orcpt}` }, failed],
  }))

t.test('the report keeps its form for any input', (t) => {
  const property = fc.property(anyDsn, (dsn) => {
    const groups = status(dsn).split('\r\n\r\n')
    t.equal(groups.length, 3)
    for (const line of groups.join('\r\n').trimEnd().split('\r\n')) t.match(line, /^(?:[A-Z][A-Za-z-]+:| )/)
    t.equal(checkForm(buildDsn(dsn), { maxLineOctets: 998 }).kind, 'ok')
  })
  fc.assert(property, { numRuns: 150, seed: 8 })
  t.end()
})

interface Tree {
  readonly type: string
  readonly headers: readonly (readonly [string, string])[]
  readonly defects: readonly string[]
  readonly text: string | null
  readonly parts: readonly Tree[]
}

const hasPython = spawnSync('python3', ['--version']).status === 0

t.test("Python's email package reads the reports", { skip: hasPython ? false : 'python3 is not installed' }, (t) => {
  const odd = oddMessages(40, 12).filter(({ common }) => common)
  const dsns = [
    report,
    { ...report, recipients: [failed, delayed] },
    ...odd.map(({ raw }): Dsn => ({ ...report, original: raw })),
  ]
  const input = dsns.map((dsn) => buildDsn(dsn).toString('base64')).join('\n')
  const run = spawnSync('python3', [join('test', 'fixtures', 'mime-tree.py')], { input, encoding: 'utf8' })
  const trees = run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Tree)
  t.equal(trees.length, dsns.length)
  for (const [at, tree] of trees.entries()) {
    t.equal(tree.type, 'multipart/report')
    t.strictSame(tree.defects, [])
    t.equal(tree.parts.length, 3)
    const [human, machine] = tree.parts
    t.equal(human?.type, 'text/plain')
    t.match(human?.text, /^This is the mail server mail\.example\.test\./)
    const groups = machine?.parts.map(
      ({ headers }) => new Map(headers.map(([name, value]) => [name.toLowerCase(), value])),
    )
    t.equal(groups?.length, 1 + (dsns[at]?.recipients.length ?? 0))
    t.equal(groups?.[0]?.get('reporting-mta'), 'dns; mail.example.test')
    t.equal(groups?.[1]?.get('final-recipient'), 'rfc822; bob@example.net')
    t.equal(groups?.[1]?.get('action'), 'failed')
  }
  t.end()
})
