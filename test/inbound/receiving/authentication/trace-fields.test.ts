/**
 * Fields that are put on top of inbound mail and fields that are removed from it; no untrusted text adds header
 * lines.
 */
import fc from 'fast-check'
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { findFields, readFieldValue, scanHeader } from '../../../../src/base/mail/header-fields.js'
import type { ResultField } from '../../../../src/inbound/receiving/authentication/result-fields.js'
import {
  formatTraceFields,
  serviceIdOf,
  type TraceFacts,
  withTrace,
} from '../../../../src/inbound/receiving/authentication/trace-fields.js'

const trace: TraceFacts = {
  returnPath: parseAddress('ann@sender.test'),
  helo: 'out.sender.test',
  address: '192.0.2.1',
  hostname: 'mail.test',
  protocol: 'ESMTPS',
  tls: { protocol: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384' },
  id: 'abc-1',
  recipient: parseAddress('bob@home.test'),
  now: Date.UTC(2026, 10, 21, 1, 2, 3),
}

const results: readonly ResultField[] = [
  { name: 'Authentication-Results', value: 'mail.test;\r\n spf=pass smtp.mailfrom=ann@sender.test;\r\n dkim=none' },
  { name: 'Received-SPF', value: 'pass (mail.test: domain of ann@sender.test) client-ip=192.0.2.1' },
]

function addTrace(text: string, more: Partial<TraceFacts> = {}, found = results): string {
  const raw = Buffer.from(text)
  return Buffer.concat(withTrace(raw, scanHeader(raw), { ...trace, ...more }, found)).toString()
}

t.test('the fields are on top in their order, and the message below is unchanged', async (t) => {
  const message = 'Subject: x\r\n\r\nbody\r\n'
  t.equal(
    addTrace(message),
    [
      'Return-Path: <ann@sender.test>',
      'Authentication-Results: mail.test; spf=pass smtp.mailfrom=ann@sender.test;',
      '\tdkim=none',
      'Received-SPF: pass (mail.test: domain of ann@sender.test)',
      '\tclient-ip=192.0.2.1',
      'Received: from out.sender.test ([192.0.2.1])',
      '\tby mail.test with ESMTPS (TLSv1.3 TLS_AES_256_GCM_SHA384)',
      '\tid abc-1',
      '\tfor <bob@home.test>;',
      '\tSat, 21 Nov 2026 01:02:03 +0000',
      message,
    ].join('\r\n'),
  )
})

t.test('a bounce, several recipients, IPv6 and no TLS each have their form', async (t) => {
  const text = formatTraceFields(
    { ...trace, returnPath: '', recipient: null, address: '2001:db8::1', tls: null, protocol: 'SMTP' },
    [],
  )
  t.match(text, /^Return-Path: <>\r\nReceived: from out\.sender\.test \(\[IPv6:2001:db8::1\]\)\r\n/)
  t.match(text, /by mail\.test with SMTP\r\n\tid abc-1;\r\n/)
  t.notMatch(text, /for </)
})

t.test('foreign results with our name are removed, results of others stay', async (t) => {
  const forged = [
    'mail.test; dkim=pass',
    'MAIL.Test; dkim=pass',
    'mail.test 1; dkim=pass',
    'mail.test. ; dkim=pass',
    '(a (nested\\) one)) "mail.test"; dkim=pass',
    '"ma\\il.test"; dkim=pass',
    'mail.test/1; dkim=pass',
    '\r\n mail.test;\r\n\tdkim=pass',
    'mail.test(x);spf=pass',
    '(never closed mail.test; dkim=pass',
    '; dkim=pass',
    '',
    `"${'x'.repeat(20_000_000)}" mail.test; dkim=pass`,
    `(${'x'.repeat(3_000)}) mail.test; dkim=pass`,
  ]
  for (const value of forged) {
    const out = addTrace(
      `Authentication-Results: ${value}\r\nauthentication-results : ${value}\r\nSubject: x\r\n\r\n`,
      {},
      [],
    )
    t.notMatch(out, /authentication-results/i, JSON.stringify(value).slice(0, 100))
    t.match(out, /\r\nSubject: x\r\n\r\n$/)
  }
  for (const value of ['mx.other.test; dkim=pass', 'mail.test.evil.test; spf=pass', 'notmail.test; spf=pass']) {
    t.match(addTrace(`Authentication-Results: ${value}\r\n\r\n`, {}, []), `Authentication-Results: ${value}\r\n`)
  }
})

t.test('our name in Unicode is our name', async (t) => {
  const message = 'Authentication-Results: pöst.test; spf=pass\r\nSubject: x\r\n\r\n'
  const out = addTrace(message, { hostname: 'xn--pst-sna.test' }, [])
  t.notMatch(out, 'pöst')
})

t.test('a foreign Return-Path is replaced', async (t) => {
  const out = addTrace('Return-Path: <evil@evil.test>\r\nSubject: x\r\nRETURN-PATH: <y@z.test>\r\n\r\n')
  t.equal(findFields(scanHeader(Buffer.from(out)), 'return-path').length, 1)
  t.notMatch(out, 'evil')
})

t.test('the service id of results is found through comments and quotes', async (t) => {
  t.equal(serviceIdOf('a.test; none'), 'a.test')
  t.equal(serviceIdOf('(x)(y) a.test'), 'a.test')
  t.equal(serviceIdOf('" a.test "; none'), 'a.test')
  t.equal(serviceIdOf('(x'), null)
  t.equal(serviceIdOf(' '), null)
})

const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc
    .array(
      fc.constantFrom(
        '\r\n',
        '\n',
        '\r',
        '\0',
        ')',
        '(',
        '"',
        ' ',
        '\t',
        'X-Evil: 1',
        '\r\n\r\n',
        ';',
        'ü',
        '\u2028',
        '\ud800',
      ),
    )
    .map((parts) => parts.join('')),
)

t.test('no untrusted name adds a line or changes what is below', async () => {
  const message = 'Subject: x\r\n\r\nbody\r\n'
  fc.assert(
    fc.property(hostile, hostile, hostile, hostile, (helo, value, cipher, path) => {
      const facts = {
        helo,
        id: cipher,
        address: helo,
        protocol: path,
        returnPath: path as TraceFacts['returnPath'],
        recipient: path as TraceFacts['recipient'],
        tls: { protocol: helo, cipher },
      }
      const out = addTrace(message, facts, [
        { name: 'Authentication-Results', value: `mail.test; ${value}` },
        { name: 'Received-SPF', value },
      ])
      const raw = Buffer.from(out)
      const { fields } = scanHeader(raw)
      const spf = fields.length === 5 ? ['received-spf'] : []
      const names = fields.map(({ name }) => name)
      const lines = out.split('\r\n')
      return (
        names.join() === ['return-path', 'authentication-results', ...spf, 'received', 'subject'].join() &&
        out.endsWith(`+0000\r\n${message}`) &&
        !/[\r\n\0]/.test(lines.join('')) &&
        lines.every((line) => Buffer.byteLength(line) <= 998) &&
        lines.slice(0, -4).every((line) => line.trim() !== '')
      )
    }),
  )
})

t.test('any header keeps its other fields, and none of it bears our name any more', async () => {
  const field = fc
    .tuple(
      fc.constantFrom('Authentication-Results', 'Subject', 'Return-Path', 'ARC-Authentication-Results'),
      fc.array(fc.constantFrom('mail.test', 'other.test', '(', ')', '"', '\\', ';', ' ', '\r\n ', 'spf=pass', '1')),
    )
    .map(([name, parts]) => `${name}: ${parts.join('')}\r\n`)
  fc.assert(
    fc.property(fc.array(field), (fields) => {
      const raw = Buffer.from(`${fields.join('')}\r\nbody`)
      const out = Buffer.concat(withTrace(raw, scanHeader(raw), trace, []))
      const header = scanHeader(out)
      const kept = (name: string) => fields.filter((text) => text.startsWith(`${name}:`)).length
      return (
        findFields(header, 'subject').length === kept('Subject') &&
        findFields(header, 'arc-authentication-results').length === kept('ARC-Authentication-Results') &&
        findFields(header, 'return-path').length === 1 &&
        findFields(header, 'authentication-results').every(
          (result) => serviceIdOf(readFieldValue(out, result)) !== 'mail.test',
        ) &&
        out.toString().endsWith('\r\n\r\nbody')
      )
    }),
  )
})
