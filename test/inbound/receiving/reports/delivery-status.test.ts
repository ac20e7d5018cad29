/** Fields of a delivery status: the class of a bounce, several recipients, reports inside other messages. */
import fc from 'fast-check'
import t from 'tap'
import { readReport } from '../../../../src/inbound/receiving/reports/read-report.js'
import type { Report } from '../../../../src/inbound/receiving/reports/report.js'
import { bouncesOf, readMail } from '../../../helpers/receiving/report-mail.js'

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

function status(to: string, diagnostic: string | null, code = '5.0.0'): readonly string[] {
  const words = diagnostic === null ? [] : [`Diagnostic-Code: smtp; ${diagnostic}`]
  return ['', `Final-Recipient: rfc822; ${to}`, 'Action: failed', `Status: ${code}`, ...words]
}

/** One bounce of lena as `kind reason`, from the fields of a delivery status. */
function ofFields(code: string, diagnostic: string): string {
  const [found] = bouncesOf(
    readMail(daemon, ['Reporting-MTA: dns; relay.test', ...status('lena@mill.test', diagnostic, code)]),
  )
  return `${found?.kind} ${found?.reason}${found?.recipientsFault === true ? ' dead' : ''}`
}

t.test('the class is that of the last reply, if it says that the matter is temporary', async (t) => {
  const table: readonly (readonly [code: string, diagnostic: string, found: string])[] = [
    ['5.0.0', '421 Host not reachable', 'temporary unreachable'],
    ['5.4.4', 'Name service error for name=mill.test type=MX: Host not found, try again', 'temporary dns'],
    ['5.1.2', '550 Host not found, try again', 'temporary dns'],
    ['5.1.2', '550 Host not found', 'permanent bad-domain'],
    ['5.1.7', '550 5.1.7 No such domain', 'permanent sender-rejected'],
    ['5.0.0', '556 the MX or SRV record indicated no SMTP service', 'permanent null-mx dead'],
    ['5.4.4', 'Name service error for name=mill.test type=MX: Malformed or unexpected reply', 'permanent bad-domain'],
    ['5.1.1', '550 5.1.1 <max@forge.test>: user unknown', 'permanent bad-mailbox'],
    ['5.1.1', '550 5.1.1 <lena@inside.mill.test>: user unknown', 'permanent bad-mailbox dead'],
    ['5.1.1', '550 5.1.1 user unknown, ask <postmaster@mill.test>', 'permanent bad-mailbox dead'],
    ['4.0.0', '450 refused to talk to me: 421 Service not available', 'temporary spam-block'],
  ]
  for (const [code, diagnostic, found] of table) t.equal(ofFields(code, diagnostic), found, diagnostic)
})

t.test('the exit code of a mailer, or a comment of the status, is a diagnostic', async (t) => {
  const found = (code: string, line: string): string => {
    const fields = ['Final-Recipient: rfc822; lena@mill.test', 'Action: failed', `Status: ${code}`, line]
    const [bounce] = bouncesOf(readMail(daemon, fields))
    return `${bounce?.reason}`
  }
  t.equal(found('5.3.0', 'Diagnostic-Code: x-unix; 67'), 'bad-mailbox')
  t.equal(found('5.3.0', 'Diagnostic-Code: X-Unix; 255'), 'remote-error')
  t.equal(found('5.0.0 (the mailbox is full)', 'X-Other: y'), 'mailbox-full')
  for (const line of [
    'X-Supplementary-Info: <mx.mill.test #5.0.0 smtp; 550 no such user here>',
    'X-Supplementary-Info: < #5.0.0 smtp;550 Recipient unknown>\r\nDiagnostic-Code: smtp; 550 5.0.0',
  ])
    t.equal(found('5.0.0', line), 'bad-mailbox', line)
})

t.test('a report inside another message is read', async (t) => {
  const inner = [
    'From: MAILER-DAEMON@mill.test',
    'To: shop@app.test',
    ...multipartLines(
      'multipart/report; report-type=delivery-status',
      ['text/plain', 'Sorry.'],
      [
        'message/delivery-status',
        'Reporting-MTA: dns; mill.test',
        ...status('lena@mill.test', '550 5.1.1 user unknown'),
      ],
    ).map((line) => line.replace('edge', 'inner')),
  ]
  const wrapped = multipartLines('multipart/mixed', ['text/plain', 'See what came.'], ['message/rfc822', ...inner])
  const [type = '', ...body] = wrapped
  for (const header of [daemon, ['From: Lena <lena@mill.test>', 'Subject: Fw: failure']]) {
    t.match(bouncesOf(readReport(Buffer.from([...header, type, ...body].join('\r\n')))), [
      { recipient: 'lena@mill.test', kind: 'permanent', reason: 'bad-mailbox', recipientsFault: true },
    ])
  }
  const away = ['From: lena@mill.test', 'Subject: Out of office', type, ...body]
  t.equal(readReport(Buffer.from(away.join('\r\n'))).type, 'auto-reply', 'but none that a vacation note returns')
  let deep: readonly string[] = inner
  for (let depth = 0; depth < 3; depth++) {
    deep = [
      'From: x@y.test',
      ...multipartLines('multipart/report', ['message/rfc822', ...deep]).map((line) =>
        line.replace('edge', `e${depth}`),
      ),
    ]
  }
  t.equal(readReport(Buffer.from(deep.join('\r\n'))).type, 'other', 'and none that is wrapped without end')
})

t.test('a parameter at the beginning of a line belongs to the field before it', async (t) => {
  const body = ['--edge', 'Content-Type: text/plain', '', '<lena@mill.test>: user unknown', '--edge--']
  const report = readMail([...daemon, 'Content-Type: multipart/mixed;', 'boundary="edge"'], body)
  t.match(bouncesOf(report), [{ recipient: 'lena@mill.test', reason: 'bad-mailbox' }])
})

/** Possible replies about one recipient; only `dead` is the recipient's own fault. */
const fates = {
  dead: '550 5.1.1 user unknown',
  full: '552 5.2.2 mailbox full',
  refused: '554 5.7.1 refused by local policy',
  silent: null,
} as const

type Fate = keyof typeof fates

const report: fc.Arbitrary<readonly { readonly to: string; readonly fate: Fate }[]> = fc
  .uniqueArray(fc.constantFrom('lena', 'max', 'eva', 'tom', 'ida', 'le', 'ax'), { minLength: 2, maxLength: 6 })
  .chain((names) =>
    fc.tuple(
      ...names.map((name) =>
        fc.record({ to: fc.constant(`${name}@mill.test`), fate: fc.constantFrom('dead', 'full', 'refused', 'silent') }),
      ),
    ),
  )

type Recipients = readonly { readonly to: string; readonly fate: Fate }[]

/** Forms in which mail systems write such a report. */
const shapes: Readonly<Record<string, (recipients: Recipients) => Report>> = {
  fields: (recipients) =>
    readMail(
      daemon,
      recipients.flatMap(({ to, fate }) => status(to, fates[fate])),
    ),
  'fields without words, and a text with a line each': (recipients) => {
    const text = recipients.map(({ to, fate }) => (fate === 'silent' ? to : `${to}: ${fates[fate]}`))
    const fields = recipients.flatMap(({ to }) => status(to, null))
    return readMail(...withParts('multipart/report', ['text/plain', ...text], ['message/delivery-status', ...fields]))
  },
  qmail: (recipients) =>
    readMail(daemon, [
      'Hi. This is the qmail-send program at relay.test.',
      ...recipients.flatMap(({ to, fate }) => [
        '',
        `<${to}>:`,
        ...(fate === 'silent' ? [] : [`Remote host said: ${fates[fate]}`]),
      ]),
    ]),
  sendmail: (recipients) =>
    readMail(daemon, [
      '   ----- The following addresses had permanent fatal errors -----',
      ...recipients.map(({ to }) => `<${to}>`),
      '',
      '   ----- Transcript of session follows -----',
      ...recipients.flatMap(({ to, fate }) => (fate === 'silent' ? [] : [`>>> RCPT To:<${to}>`, `<<< ${fates[fate]}`])),
    ]),
  Exim: (recipients) =>
    readMail(
      [...daemon, `X-Failed-Recipients: ${recipients.map(({ to }) => to).join(', ')}`],
      [
        'This message was created automatically by mail delivery software.',
        ...recipients.flatMap(({ to, fate }) => ['', `  ${to}`, ...(fate === 'silent' ? [] : [`    ${fates[fate]}`])]),
      ],
    ),
}

t.test('no recipient gets the fault of another', async (t) => {
  for (const [shape, write] of Object.entries(shapes)) {
    t.test(shape, async () => {
      fc.assert(
        fc.property(report, (recipients) => {
          const found = bouncesOf(write(recipients))
          return recipients.every(({ to, fate }) => {
            const own = found.filter(({ recipient }) => recipient === to)
            return own.every(({ recipientsFault }) => !recipientsFault || fate === 'dead')
          })
        }),
        { numRuns: 200 },
      )
    })
    t.test(`${shape}: each has its own reason`, async (t) => {
      const found = bouncesOf(
        write([
          { to: 'lena@mill.test', fate: 'full' },
          { to: 'max@mill.test', fate: 'dead' },
        ]),
      )
      t.match(found, [
        { recipient: 'lena@mill.test', reason: 'mailbox-full', recipientsFault: false },
        { recipient: 'max@mill.test', reason: 'bad-mailbox', recipientsFault: true },
      ])
    })
  }
})
