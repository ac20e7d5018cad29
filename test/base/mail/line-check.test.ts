/** The form of the lines of a message. */
import fc from 'fast-check'
import t from 'tap'
import { checkLinesInSteps, type LineCheck } from '../../../src/base/mail/line-check.js'
import { checkForm } from '../../helpers/mail/check-form.js'

t.test('faults in the form of lines are found', (t) => {
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
  for (const [text, expected] of cases) {
    t.strictSame(checkForm(Buffer.from(text), { maxLineOctets: 10 }), expected, JSON.stringify(text))
  }
  t.end()
})

t.test('the check agrees with a plain implementation of the rules', (t) => {
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
  fc.assert(property)
  t.end()
})

t.test('many lines are checked in steps', (t) => {
  const raw = Buffer.from(`${'\r\n'.repeat(200_000)}a\nb\r\n`)
  const steps = checkLinesInSteps(raw, { maxLineOctets: 10 })
  let pauses = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) pauses += 1
  t.equal(pauses, 12)
  t.same(step.value, { kind: 'bare-line-break', line: 200_001 })
  t.end()
})
