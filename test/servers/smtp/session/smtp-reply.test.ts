/** Replies: their codes, their texts, their enhanced status codes. */
import t from 'tap'
import { Refusal, type RefusalKind } from '../../../../src/base/mail/refusal.js'
import { hasStatus, withStatus } from '../../../../src/servers/smtp/server/enhanced-status.js'
import { asError } from '../../../../src/servers/smtp/server/smtp-server-adapter.js'
import { toSmtpReply } from '../../../../src/servers/smtp/session/smtp-reply.js'

t.test('every kind of refusal has its documented reply', async (t) => {
  const documented: Record<RefusalKind, string> = {
    'malformed-message': '550 5.6.0',
    'bare-line-break': '550 5.6.11',
    'line-too-long': '550 5.6.0',
    'invalid-address': '553 5.1.3',
    'invalid-parameter': '501 5.5.4',
    'missing-field': '501 5.5.4',
    'invalid-json': '554 5.6.0',
    'unsupported-media-type': '554 5.6.1',
    'method-not-allowed': '502 5.5.1',
    'bad-credentials': '535 5.7.8',
    'key-expired': '535 5.7.8',
    'signed-out': '530 5.7.0',
    'wrong-password': '535 5.7.8',
    'authentication-required': '530 5.7.0',
    'too-many-failures': '421 4.7.0',
    forbidden: '550 5.7.1',
    'sender-not-verified': '550 5.7.1',
    'unknown-recipient': '550 5.1.1',
    'relay-denied': '550 5.7.1',
    'recipient-blocked': '550 5.2.1',
    'sender-not-authenticated': '550 5.7.1',
    'all-recipients-suppressed': '554 5.7.1',
    'too-many-recipients': '452 4.5.3',
    'attachment-too-large': '552 5.3.4',
    'too-large': '552 5.3.4',
    'mailbox-full': '452 4.2.2',
    'mail-loop': '554 5.4.6',
    'rate-limited': '451 4.7.1',
    'daily-limit': '452 4.7.1',
    'quota-exceeded': '452 4.7.1',
    'insufficient-quota': '452 4.7.1',
    conflict: '554 5.5.0',
    'domain-not-verified': '550 5.7.1',
    'domain-taken': '554 5.5.0',
    'not-found': '554 5.5.0',
    'email-not-found': '554 5.5.0',
    'domain-not-found': '554 5.5.0',
    'template-not-found': '554 5.5.0',
    'audience-not-found': '554 5.5.0',
    'contact-not-found': '554 5.5.0',
    'webhook-not-found': '554 5.5.0',
    'invalid-template-variables': '554 5.6.0',
    'domain-not-proved': '550 5.7.1',
    'dkim-not-proved': '550 5.7.1',
    'spf-not-proved': '550 5.7.1',
    'no-answer': '451 4.4.3',
    'storage-full': '452 4.3.1',
    draining: '451 4.3.2',
    unavailable: '421 4.3.2',
  }
  for (const [kind, expected] of Object.entries(documented)) {
    const { code, status } = toSmtpReply(new Refusal(kind as RefusalKind, 'why'), () => t.fail('a refusal is no bug'))
    t.equal(`${code} ${status}`, expected, kind)
    t.equal(status[0], String(code)[0], 'both codes are of one class')
  }
})

t.test('a reply is one line of ASCII that fits, whatever the text was', async (t) => {
  const { text } = toSmtpReply(new Refusal('forbidden', `a\r\n250 ok\u0085ü${'x'.repeat(1000)}`), () => undefined)
  t.match(text, /^a\?250 ok\?x+$/)
  t.equal(text.length, 400)
  t.match(asError({ code: 550, status: '5.7.1', text: 'no' }), { responseCode: 550, message: '5.7.1 no' })
})

t.test('a status code is recognized at the start of a text only', async (t) => {
  t.ok(hasStatus(550, '5.7.1 no'))
  t.ok(hasStatus(250, '2.0.0 Ok: queued'))
  t.notOk(hasStatus(550, '4.7.1 of another class'))
  t.notOk(hasStatus(550, 'see 5.7.1 there'))
  t.notOk(hasStatus(550, '5.7 no'))
  t.equal(withStatus('Server shutting down'), '4.3.2 Server shutting down')
  t.equal(withStatus('Bye'), 'Bye')
})
