/** DSN parameters of SMTP (RFC 3461): NOTIFY, RET, ENVID, ORCPT, xtext. */
import fc from 'fast-check'
import t from 'tap'
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
} from '../../../src/base/mail/dsn-parameters.js'

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

t.test('a refusal shows only a printable beginning of the value', (t) => {
  try {
    validateEnvid(`\r\n\u009b${'x'.repeat(200)}`)
    t.fail('refused')
  } catch (error) {
    t.equal((error as Error).message.startsWith(`ENVID is ???${'x'.repeat(37)}: allowed`), true)
  }
  t.end()
})

t.test('DSN parameters survive formatting and parsing, whatever they hold', (t) => {
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
