import { createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { parseDomainName, tryParseAddress } from '../../src/mail/address.js'
import {
  decodeXtext,
  encodeXtext,
  formatNotify,
  formatOrcpt,
  formatRet,
  parseNotify,
  parseRet,
  validateEnvid,
  validateOrcpt,
} from '../../src/mail/dsn-parameters.js'
import { checkLinesInSteps, type LineCheck } from '../../src/mail/line-check.js'
import {
  createReferenceField,
  createReturnPath,
  createUnsubscribeAddress,
  recipientOfReference,
  recipientOfReturnPath,
  recipientOfUnsubscribe,
} from '../../src/mail/recipient-token.js'
import { checkForm } from '../helpers/check-form.js'

const refused = { name: 'Refusal', kind: 'invalid-parameter' }

t.test('NOTIFY is a list, or NEVER alone', (t) => {
  t.strictSame(parseNotify('SUCCESS,failure,Delay'), ['success', 'failure', 'delay'])
  t.strictSame(parseNotify('NEVER'), ['never'])
  t.strictSame(parseNotify('DELAY,DELAY'), ['delay'])
  for (const text of ['', 'NEVER,SUCCESS', 'ALWAYS', 'SUCCESS,', 'SUCCESS FAILURE', 'constructor']) {
    t.throws(() => parseNotify(text), refused, text)
  }
  t.equal(formatNotify(['success', 'delay']), 'SUCCESS,DELAY')
  t.end()
})

t.test('RET is FULL or HDRS', (t) => {
  for (const text of ['FULL', 'HDRS']) t.equal(formatRet(parseRet(text)), text)
  t.equal(parseRet('hdrs'), 'headers')
  for (const text of ['', 'HEADERS', 'FULL ']) t.throws(() => parseRet(text), refused, text)
  t.end()
})

t.test('xtext is decoded and encoded', (t) => {
  t.equal(decodeXtext('a+2Bb+3Dc+20d'), 'a+b=c d')
  t.equal(encodeXtext('a+b=c d'), 'a+2Bb+3Dc+20d')
  for (const text of ['a+2b', 'a+2', 'a=b', 'a b', '+', 'ü', 'a\r\n']) t.throws(() => decodeXtext(text), refused, text)
  t.end()
})

t.test('an envelope id is printable and fits 100 characters of xtext', (t) => {
  t.equal(validateEnvid('QQ314159 +='), 'QQ314159 +=')
  t.equal(validateEnvid('x'.repeat(100)).length, 100)
  for (const envid of ['', 'x'.repeat(101), '+'.repeat(34), 'a\r\nb', 'ü', '\0']) {
    t.throws(() => validateEnvid(envid), refused, JSON.stringify(envid))
  }
  t.end()
})

t.test('an original recipient has a type and an address', (t) => {
  for (const orcpt of [
    'rfc822;Bob+x@example.test',
    'x400;/c=de/',
    'rfc822;"a b"@example.test',
    'utf-8;jörg@example.test',
  ]) {
    t.equal(validateOrcpt(orcpt), orcpt)
  }
  t.equal(formatOrcpt('rfc822;Bob+x=y@example.test'), 'rfc822;Bob+2Bx+3Dy@example.test')
  t.equal(formatOrcpt('utf-8;jörg+x@example.test'), 'utf-8;j\\x{F6}rg\\x{2B}x@example.test')
  t.equal(validateOrcpt('utf-8;j\\x{F6}rg\\x{1F600}@example.test'), 'utf-8;jörg😀@example.test')
  const wrong = [
    '',
    'rfc822',
    'rfc822;',
    ';a@b',
    'rf c;a@b',
    'rfc822;a\r\nb',
    'rfc822;jörg@b',
    'utf-8;a\\x{0A}b',
    'utf-8;\\x{D800}',
  ]
  for (const orcpt of [...wrong, `rfc822;${'x'.repeat(494)}`, `rfc822;${'+'.repeat(200)}`]) {
    t.throws(() => validateOrcpt(orcpt), refused, JSON.stringify(orcpt))
  }
  t.end()
})

t.test('a refusal shows no more than a printable beginning of the value', (t) => {
  try {
    validateEnvid(`\r\n\u009b${'x'.repeat(200)}`)
    t.fail('refused')
  } catch (error) {
    t.equal((error as Error).message.startsWith(`ENVID is ???${'x'.repeat(37)}: allowed`), true)
  }
  t.end()
})

t.test('DSN parameters survive the way out and in, whatever they hold', (t) => {
  const ascii = fc.string({ unit: 'binary-ascii', maxLength: 60 })
  const anyText = fc.string({ unit: 'binary', maxLength: 40 })
  fc.assert(
    fc.property(ascii, (text) => t.equal(decodeXtext(encodeXtext(text)), text)),
    { numRuns: 200, seed: 1 },
  )
  const kept = (orcpt: string): string | null => {
    try {
      return validateOrcpt(orcpt)
    } catch (error) {
      t.match(error, refused)
      return null
    }
  }
  fc.assert(
    fc.property(fc.constantFrom('rfc822', 'utf-8'), anyText, (type, address) => {
      const orcpt = kept(`${type};${address.replaceAll('\\', '')}`)
      if (orcpt === null) return
      const wire = formatOrcpt(orcpt)
      t.match(wire, /^[!-~]{1,500}$/)
      t.equal(validateOrcpt(type === 'utf-8' ? wire : decodeXtext(wire)), orcpt)
    }),
    { numRuns: 300, seed: 2 },
  )
  for (const parse of [parseNotify, parseRet, validateEnvid, validateOrcpt, decodeXtext]) {
    fc.assert(
      fc.property(anyText, (text) => {
        try {
          parse(text)
        } catch (error) {
          t.match(error, refused)
        }
      }),
      { numRuns: 100, seed: 3 },
    )
  }
  t.end()
})

const secret = createSecretKey(Buffer.alloc(32, 7))
const id = '0193a111-2222-7333-8444-555566667777'
const host = parseDomainName('mail.example.test')

t.test('a return path leads back to its recipient', (t) => {
  const path = createReturnPath(secret, id, host)
  t.match(path, /^bounce\+[a-z2-7]{42}@mail\.example\.test$/)
  const local = path.split('@')[0] ?? ''
  t.equal(recipientOfReturnPath(secret, local), id)
  t.equal(recipientOfReturnPath(secret, local.toUpperCase()), id)
  t.throws(() => createReturnPath(secret, 'no uuid', host))
  t.end()
})

t.test('the token is base32 of the id and of 80 bits of its HMAC', (t) => {
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
  const mac = createHmac('sha256', secret).update(bytes).digest().subarray(0, 10)
  const bits = (part: Buffer, size: number): string => {
    const all = [...part]
      .map((byte) => byte.toString(2).padStart(8, '0'))
      .join('')
      .padEnd(size * 5, '0')
    return Array.from(
      { length: size },
      (_, at) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(all.slice(at * 5, at * 5 + 5), 2)],
    ).join('')
  }
  t.equal(createReturnPath(secret, id, host), `bounce+${bits(bytes, 26)}${bits(mac, 16)}@${host}`)
  t.end()
})

t.test('any other local part leads nowhere', (t) => {
  const local = createReturnPath(secret, id, host).split('@')[0] ?? ''
  for (let at = 0; at < local.length; at++) {
    for (const char of ['a', 'b', '7', '1', 'ü']) {
      const changed = local.slice(0, at) + char + local.slice(at + 1)
      if (changed !== local) t.equal(recipientOfReturnPath(secret, changed), null, changed)
    }
  }
  t.equal(recipientOfReturnPath(createSecretKey(Buffer.alloc(32, 8)), local), null)
  for (const other of ['', 'bounce+', local.slice(1), `${local}a`, local.slice(0, -1)]) {
    t.equal(recipientOfReturnPath(secret, other), null)
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 40, maxLength: 50 }), (text) =>
      t.equal(recipientOfReturnPath(secret, text), null),
    ),
    { numRuns: 200, seed: 4 },
  )
  fc.assert(
    fc.property(fc.uuid(), (uuid) =>
      t.equal(recipientOfReturnPath(secret, createReturnPath(secret, uuid, host).slice(0, 49)), uuid),
    ),
    { numRuns: 200, seed: 4 },
  )
  t.end()
})

t.test('a token is worth something in its own place alone', (t) => {
  const tokens = {
    bounce: createReturnPath(secret, id, host).slice('bounce+'.length, -1 - host.length),
    reference: createReferenceField(secret, id).slice('X-Posthorn-Reference: '.length, -2),
    unsubscribe: createUnsubscribeAddress(secret, id, host).slice('unsubscribe+'.length, -1 - host.length),
  }
  const readers: Readonly<Record<keyof typeof tokens, (token: string) => string | null>> = {
    bounce: (token) => recipientOfReturnPath(secret, `bounce+${token}`),
    reference: (token) => recipientOfReference(secret, token),
    unsubscribe: (token) => recipientOfUnsubscribe(secret, token),
  }
  for (const [purpose, token] of Object.entries(tokens)) {
    t.match(token, /^[a-z2-7]{42}$/)
    for (const [reader, read] of Object.entries(readers)) {
      t.equal(read(token), purpose === reader ? id : null, `${purpose} read as ${reader}`)
    }
  }
  t.equal(recipientOfReference(secret, ` ${tokens.reference.toUpperCase()}\t`), id)
  t.equal(recipientOfUnsubscribe(createSecretKey(Buffer.alloc(32, 8)), tokens.unsubscribe), null)
  t.equal(tryParseAddress(createUnsubscribeAddress(secret, id, host)), createUnsubscribeAddress(secret, id, host))
  t.end()
})

t.test('the form of lines is judged', (t) => {
  const ok = { kind: 'ok', has8bit: false } as const
  const bare = (line: number): LineCheck => ({ kind: 'bare-line-break', line })
  const long = { kind: 'line-too-long', line: 2, octets: 11 } as const
  const cases: readonly (readonly [string, LineCheck])[] = [
    ['', ok],
    ['A: b\r\n\r\ntext\r\n', ok],
    ['no end', ok],
    ['tab\t\u000b\u000c\r\n', ok],
    ['ü\r\n', { kind: 'ok', has8bit: true }],
    ['a\nb', bare(1)],
    ['a\r\nb\rc\r\n', bare(2)],
    ['a\r\n\r\r\n', bare(2)],
    ['a\r\n\n', bare(2)],
    ['a\r', bare(1)],
    ['a\r\nb\0', bare(2)],
    ['0123456789\r\n0123456789\r\n', ok],
    ['0123456789\r\n01234567890\r\n', long],
    ['0123456789\r\n01234567890', long],
  ]
  for (const [text, wanted] of cases) {
    t.strictSame(checkForm(Buffer.from(text), { maxLineOctets: 10 }), wanted, JSON.stringify(text))
  }
  t.end()
})

t.test('the form agrees with a plain reading of the rules', (t) => {
  const unit = fc.constantFrom('a', 'bc', 'ü', '\r\n', '\r\n', '\r\n', ' ', '\r', '\n', '\0')
  const property = fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
    const raw = Buffer.from(text)
    const lines = raw.toString('latin1').split('\r\n')
    const bad = lines.some((line) => /[\r\n\0]/.test(line))
    const long = lines.some((line) => line.length > 6)
    const { kind } = checkForm(raw, { maxLineOctets: 6 })
    t.equal(kind === 'ok', !bad && !long)
    if (!long) t.equal(kind === 'bare-line-break', bad)
    if (!bad) t.equal(kind === 'line-too-long', long)
  })
  fc.assert(property, { numRuns: 500, seed: 6 })
  t.end()
})

t.test('the one look at a plain address passes what the long way passes, and nothing else', (t) => {
  const local = fc.string({
    unit: fc.constantFrom('a', '1', '.', '-', '_', '+', '=', '"', ' ', 'ü', '@'),
    maxLength: 6,
  })
  const domain = fc.string({ unit: fc.constantFrom('a', '1', '.', '-', '_', 'x.test'), maxLength: 8 })
  const property = fc.property(local, domain, (name, host) => {
    // Capitals in the domain are what the short way does not know.
    if (!/[a-z]/.test(host)) return
    t.equal(tryParseAddress(`${name}@${host}`), tryParseAddress(`${name}@${host.toUpperCase()}`))
  })
  fc.assert(property, { numRuns: 3_000, seed: 5 })
  for (const length of [63, 64, 65]) {
    t.equal(tryParseAddress(`${'a'.repeat(length)}@b.test`) !== null, length <= 64)
    t.equal(tryParseAddress(`a@${'b'.repeat(length)}.test`) !== null, length <= 63)
  }
  t.end()
})

t.test('many lines are looked at in steps', (t) => {
  const raw = Buffer.from(`${'\r\n'.repeat(200_000)}a\nb\r\n`)
  const steps = checkLinesInSteps(raw, { maxLineOctets: 10 })
  let pauses = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) pauses += 1
  t.equal(pauses, 3)
  t.same(step.value, { kind: 'bare-line-break', line: 200_001 })
  t.end()
})
