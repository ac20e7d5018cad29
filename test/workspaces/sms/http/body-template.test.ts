/** Bodies from templates: what is put in comes out again when real parsers read them. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { createTemplateStyle } from '../../../../src/workspaces/sms/http/body-template.js'
import type { GatewayRequest } from '../../../../src/workspaces/sms/http/http-style.js'
import type { SmsMessage } from '../../../../src/workspaces/sms/provider.js'
import { encodeText } from '../../../../src/workspaces/sms/text-encoding.js'
import { runProgram } from '../../../helpers/programs/run-program.js'
import { skipWithout } from '../../../helpers/programs/skip-without.js'

const message = (text: string): SmsMessage => ({
  id: 'code-1',
  phone: '+4915123456789',
  text: { ...encodeText('x'), text },
  expiresAt: 0,
  receiptUrl: 'https://mail.example.test/v1/sms/receipts/code-1/token',
})
const settings = { body_template: '', username: '', password: '', sender: 'Post & Co' }

function fill(template: string, text: string): GatewayRequest {
  return createTemplateStyle({ ...settings, body_template: template }).buildRequest(message(text), 0)
}

/** Half a surrogate pair cannot be sent in UTF-8. */
const asSent = (text: string): string => Buffer.from(text).toString()
const part = fc.constantFrom(
  '{to}',
  '{text}',
  '{id}',
  '"',
  "'",
  '\\',
  '&',
  '&amp;',
  '<',
  ']]>',
  '\n',
  '\r\n',
  '+',
  '%41',
  '=',
  '$&',
  '$1',
)
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.array(fc.oneof(part, fc.string({ maxLength: 3 })), { maxLength: 20 }).map((parts) => parts.join('')),
  fc.constantFrom('\ud800', 'a\udc00b', '\ufffe\uffff', '\0\x1f\x7f\x85\u2028'),
)

t.test('every placeholder is filled, and nothing else is changed', async (t) => {
  const template =
    '{"to":"{to}","from":"{from}","id":"{id}","url":"{receipt_url}","text":"{text}","n":[{"x":"{other}"}]}'
  t.same(JSON.parse(fill(template, 'Code {to} {text}').body), {
    to: '+4915123456789',
    from: 'Post & Co',
    id: 'code-1',
    url: 'https://mail.example.test/v1/sms/receipts/code-1/token',
    text: 'Code {to} {text}',
    n: [{ x: '{other}' }],
  })
  t.equal(fill('{text}{text}', 'a').body, 'aa')
})

t.test('the first character says what the body is', async (t) => {
  for (const [template, type] of [
    ['{"a":1}', 'application/json'],
    [' [1]', 'application/json'],
    ['\n<a/>', 'application/xml; charset=utf-8'],
    ['a=b', 'application/x-www-form-urlencoded'],
    ['', 'application/x-www-form-urlencoded'],
  ] as const) {
    t.equal(fill(template, '').headers['content-type'], type, template)
  }
})

t.test('a user name means Basic authentication, a password alone Bearer', async (t) => {
  const fieldOf = (login: { username?: string; password?: string }): string | undefined =>
    createTemplateStyle({ ...settings, ...login }).buildRequest(message(''), 0).headers['authorization']
  t.equal(fieldOf({}), undefined)
  t.equal(fieldOf({ password: 'tokén' }), `Bearer ${Buffer.from('tokén').toString('latin1')}`)
  t.equal(fieldOf({ username: 'user' }), `Basic ${btoa('user:')}`)
  t.equal(
    fieldOf({ username: 'üser', password: 'pass:word' }),
    `Basic ${Buffer.from('üser:pass:word').toString('base64')}`,
  )
})

t.test('JSON and forms return any text', async () => {
  fc.assert(
    fc.property(texts, (text) => {
      const json = JSON.parse(fill('{"text":"{text}","to":"{to}"}', text).body) as { text: string; to: string }
      const form = new URLSearchParams(fill('to={to}&text={text}&x=1', text).body)
      const pairs = [
        ['to', '+4915123456789'],
        ['text', asSent(text)],
        ['x', '1'],
      ]
      const whole = { text: json.text, to: '+4915123456789' }
      if (!isDeepStrictEqual(json, whole) || !isDeepStrictEqual([...form], pairs)) return false
      return Buffer.from(json.text).toString() === asSent(text)
    }),
  )
})

/** Reads documents as a JSON list; prints the text and the attribute of each. */
const readXml = `
import json, sys, xml.etree.ElementTree as tree
found = []
for document in json.load(sys.stdin):
    root = tree.fromstring(document.encode('utf-8'))
    found.append([root.text or '', root.get('a')])
print(json.dumps(found))
`

t.test('XML returns any text that it allows', { skip: skipWithout('python3') }, async (t) => {
  const given = [...fc.sample(texts), '\0', 'a\ufffeb', '\ud800', 'tab\tline\ncr\r']
  const documents = given.map((text) => fill('<?xml version="1.0"?><m a="{text}">{text}</m>', text).body)
  const { status, stdout, stderr } = await runProgram(['python3', '-c', readXml], JSON.stringify(documents))
  t.equal(status, 0, stderr)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 does not allow them
  const expected = given.map((text) => asSent(text).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd'))
  t.same(
    JSON.parse(stdout),
    expected.map((text) => [text, text]),
  )
})
