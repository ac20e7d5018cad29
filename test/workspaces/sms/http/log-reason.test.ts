/** What of a gateway's answer is logged: no secret, one line, a bounded length. */
import fc from 'fast-check'
import t from 'tap'
import { toLogReason } from '../../../../src/workspaces/sms/http/log-reason.js'
import type { SmsMessage } from '../../../../src/workspaces/sms/provider.js'
import { encodeText } from '../../../../src/workspaces/sms/text-encoding.js'

const messageWith = (text: string): SmsMessage => ({
  ...{ id: 'code-1', phone: '+4915123456789', text: encodeText(text), expiresAt: 0 },
  receiptUrl: 'https://mail.example.test/v1/sms/receipts/code-1/tokentokentoken',
})
const credentials = ['auth-token', 'AC12', '', 'auth-token-2']

t.test('secrets are hidden, the longest first', async (t) => {
  const reasonOf = (reason: string, text = 'Code 04821375, 10 min'): string =>
    toLogReason(reason, messageWith(text), credentials)
  const cases: readonly (readonly [string, string])[] = [
    ['no credit', 'no credit'],
    ['"Code 04821375, 10 min" is too long', '"[hidden]" is too long'],
    ['body=Code+04821375%2C+10+min', 'body=Code+[hidden]%2C+10+min'],
    ['AC12:auth-token-2 and auth-token', '[hidden]:[hidden] and [hidden]'],
    ['https://mail.example.test/v1/sms/receipts/code-1/tokentokentoken failed', '[hidden] failed'],
    ['/code-1/tokentokentoken', '/code-1/[hidden]'],
    ['a\r\nb\u2028c\u0000\u001bd', 'a b c d'],
    ['error 10 of 21211', 'error 10 of 21211'],
  ]
  for (const [reason, expected] of cases) t.equal(reasonOf(reason), expected, encodeURI(reason))
  t.equal(reasonOf('1234', 'Code 1234'), '[hidden]', 'the shortest code')
})

t.test('a code is hidden wherever it stands, also at the end of what is kept', async (t) => {
  const codes = fc.integer({ min: 0, max: 99_999_999 }).map((code) => String(code).padStart(8, '0'))
  const fill = fc.string({ unit: 'binary', maxLength: 500 })
  fc.assert(
    fc.property(codes, fill, fill, (code, before, after) => {
      const reason = toLogReason(`${before}${code}${after}`, messageWith(`Code ${code}.`), credentials)
      return !reason.includes(code.slice(0, 4)) || before.includes(code.slice(0, 4)) || after.includes(code.slice(0, 4))
    }),
  )
  const long = toLogReason(`${'x'.repeat(396)}04821375`, messageWith('04821375'), credentials)
  t.equal(long, `${'x'.repeat(396)}[hid`)
})
