import fc from 'fast-check'
import t from 'tap'
import { buildMessageText, checkTemplate, MAX_TEMPLATE_LENGTH } from '../../../src/workspaces/sms/message-text.js'
import { catchRefusal } from '../../helpers/catch-refusal.js'

const values = { code: '012345', minutes: 10 }

t.test('texts', async (t) => {
  const rows: readonly (readonly [template: string | undefined, text: string])[] = [
    [undefined, 'Your verification code is 012345, valid for 10 minutes.'],
    ['{code}', '012345'],
    ['{code} {code} {minutes}{minutes}', '012345 012345 1010'],
    ['Hello {name}, {code}!', 'Hello {name}, 012345!'],
    ['{{code}} {CODE} { code } {minutes', '{012345} {CODE} { code } {minutes'],
    ['$& $1 {code}', '$& $1 012345'],
    ['Straße\n{code} €', 'Straße\n012345 €'],
  ]
  for (const [template, text] of rows) t.equal(buildMessageText(template, values), text)
  const text = buildMessageText(undefined, { ...values, minutes: 1 })
  t.equal(text, 'Your verification code is 012345, valid for 1 minute.')
})

t.test('templates that are refused', async (t) => {
  const rows: readonly (readonly [template: string, message: RegExp])[] = [
    ['', /must contain \{code\}/],
    ['Your code is {cod}', /must contain \{code\}/],
    [`{code}${'x'.repeat(MAX_TEMPLATE_LENGTH - 5)}`, /at most 480 characters, found 481/],
    [`{code}${'x'.repeat(1_000_000)}`, /at most 480 characters/],
    ['{code}\r\n', /control characters/],
    ['{code}\t', /control characters/],
    ['{code}\u0000', /control characters/],
    ['{code}\u001b', /control characters/],
    ['{code}\u0085', /control characters/],
    ['{code}\ud83d', /surrogate/],
    ['\ude00{code}', /surrogate/],
  ]
  for (const [template, message] of rows) {
    const refusal = await catchRefusal(() => checkTemplate(template))
    t.equal(refusal.kind, 'invalid-parameter')
    t.match(refusal.message, message)
    t.equal(refusal.details['field'], 'template')
    t.ok(String(refusal.details['value']).length <= 100)
  }
})

t.test('templates that are accepted', async (t) => {
  const long = `{code}${'x'.repeat(MAX_TEMPLATE_LENGTH - 6)}`
  for (const template of ['{code}', long, 'a\n{code}', '😀{code}', '{code}\u200f', '{code}{minutes}{']) {
    t.doesNotThrow(() => checkTemplate(template))
  }
})

t.test('a text has the template between the values, in order', async (t) => {
  const pieces = fc.array(fc.constantFrom('{code}', '{minutes}', '{', '}', 'a', '{text}', '$&', '😀', '\\', 'code'))
  fc.assert(
    fc.property(pieces, (template) => {
      const joined = template.join('')
      const expected = joined
        .split('{code}')
        .map((part) => part.split('{minutes}').join('10'))
        .join('012345')
      t.equal(buildMessageText(joined, values), expected)
    }),
  )
})
