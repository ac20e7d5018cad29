import t from 'tap'
import type { Reply, Stage } from '../../../../src/base/mail/reply.js'
import { classifyReply } from '../../../../src/records/messages/replies/classify-reply.js'
import type { PaceSignal } from '../../../../src/records/messages/replies/pace-signal.js'

function reply(line: string): Reply {
  const found = /^(\d{3}) ?(?:([245]\.\d{1,3}\.\d{1,3})(?: |$))?(.*)$/.exec(line)
  return { code: Number(found?.[1]), enhanced: found?.[2] ?? null, text: found?.[3] ?? '' }
}

const rows: readonly (readonly [Stage, string, PaceSignal | null])[] = [
  // Sessions.
  ['banner', '421 4.7.0 Try again later, closing connection: too many sessions from this address', 'sessions'],
  [
    'banner',
    '451 4.7.652 The mail server [192.0.2.1] has exceeded the maximum number of connections. (S3115)',
    'sessions',
  ],
  ['banner', '421 4.7.0 [TSS09] Too many connections from 192.0.2.1', 'sessions'],
  [
    'banner',
    '421 gmx.net Service closing transmission channel, too many concurrent connections from your address',
    'sessions',
  ],
  ['banner', '421 4.7.0 mx1.isp.test Error: too many connections from 192.0.2.1', 'sessions'],
  [
    'banner',
    '421 mwinf5c04 ME Trop de connexions, veuillez verifier votre configuration. Too many connections, slow down. OFR004_104',
    'sessions',
  ],
  ['ehlo', '421 4.3.2 Concurrent sessions exceeded', 'sessions'],
  ['banner', '554 5.7.1 Connection limit reached for your address', 'sessions'],
  // Messages of one session.
  ['mail', '421 4.7.0 Too many messages in this session, closing connection', 'messages'],
  ['mail', '421 4.7.0 Max message per connection reached, closing transmission channel', 'messages'],
  ['mail', '452 4.5.3 Maximum number of messages per session exceeded', 'messages'],
  ['message', '452 4.1.0 Too many emails sent on this session', 'messages'],
  // Messages in a time.
  [
    'mail',
    '421 4.7.28 Our system has detected an unusual rate of unsolicited mail originating from your IP address. To protect our users, mail has been temporarily rate limited.',
    'rate',
  ],
  ['message', '421 4.7.28 Our system has detected an unusual rate of unsolicited mail', 'rate'],
  [
    'mail',
    '451 4.7.651 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation. (S775)',
    'rate',
  ],
  ['mail', '451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation.', 'rate'],
  [
    'mail',
    '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
    'rate',
  ],
  ['mail', '450 4.7.1 Error: too much mail from 192.0.2.1', 'rate'],
  ['banner', '421 4.7.0 Try again later, closing connection.', 'rate'],
  ['rcpt', '450 4.7.1 Throttled: slow down', 'rate'],
  ['mail', '421 4.1.0 192.0.2.1 Throttled - too many messages, see RL000003', 'rate'],
  ['rcpt', '450 Requested mail action not taken: mail send limit exceeded', 'rate'],
  // The address as a whole.
  ['banner', '554 5.7.1 mx1.isp.test blocked: your address [192.0.2.1] is listed for poor reputation', 'block'],
  ['mail', '421 4.7.1 your address is listed for poor reputation, closing connection', 'block'],
  [
    'mail',
    "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3140).",
    'block',
  ],
  ['banner', '554 5.7.1 go away', 'block'],
  ['mail', '550 5.7.1 your address is blocked', 'block'],
  // Nothing named.
  ['banner', '421 Service not available, closing transmission channel', 'unnamed'],
  // No matter of pace.
  ['rcpt', '451 4.7.1 Greylisted, please try again in 45 seconds', null],
  ['rcpt', '450 4.2.0 Greylisted', null],
  [
    'rcpt',
    '450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages',
    null,
  ],
  ['rcpt', '450 4.2.1 bob@b.test is receiving mail too quickly', null],
  ['rcpt', '452 4.2.2 The mailbox is over quota', null],
  ['rcpt', '550 5.1.1 user unknown', null],
  ['rcpt', '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.dnsbl.test', null],
  ['message', '550 5.7.1 Message rejected as spam by content filtering', null],
  ['message', '552 5.3.4 too large', null],
  ['mail', '550 5.7.1 SPF check failed', null],
  ['mail', '451 4.3.0 try again', null],
  ['mail', '421 4.4.2 idle timeout', null],
  // One sender of ours: the others are not to wait for it.
  [
    'message',
    '421 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your DKIM domain [a.test 35]. To protect our users, mail from it has been temporarily rate limited.',
    null,
  ],
  [
    'message',
    '421 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your SPF domain [posthorn.a.test 35].',
    null,
  ],
  ['message', '421 4.7.28 An unusual rate of mail with one of your URL domains was detected', null],
  ['auth', '454 4.7.0 too many connections', null],
  ['mail', '250 2.0.0 rate limited', null],
  // One sender's domain or message: the mail of others from the same address is not concerned.
  [
    'message',
    '421 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your DKIM domain [a.test 36]. To protect our users from spam, mail sent from your domain has been temporarily rate limited.',
    null,
  ],
  [
    'message',
    '421 4.7.28 Gmail has detected an unusual rate of unsolicited mail containing one of your URL domains. Mail with the URL has been temporarily rate limited.',
    null,
  ],
  [
    'message',
    '421 4.7.26 Your email has been rate limited because it is unauthenticated. Gmail requires all senders to authenticate with either SPF or DKIM.',
    null,
  ],
  ['message', '421 4.7.30 Your email has been rate limited because DKIM authentication did not pass', null],
  [
    'message',
    '421 4.7.0 [192.0.2.1 15] Our system has detected that this message is suspicious due to the very low reputation of the sending domain.',
    null,
  ],
  [
    'message',
    '421 4.7.0 This message is suspicious due to the nature of the content and/or the links within. To best protect our users from spam, the message has been blocked.',
    null,
  ],
  ['mail', '554 5.7.1 Service unavailable; Sender address [a@b.test] blocked using dbl.spamhaus.org', null],
  ['mail', '550 5.7.1 The sender domain b.test is on our block list', null],
  ['mail', '450 4.7.1 <a@b.test>: Sender address rejected: rate limit exceeded for this sender', null],
  ['message', '451 4.7.1 Ratelimit "user" exceeded', null],
  ['message', '421 4.7.0 [192.0.2.1] very low reputation of the sending IP address', 'block'],
  ['message', '421 4.7.23 Your email has been rate limited because the sending IP address has no PTR record', 'rate'],
  ['message', '421 4.7.28 Unusual rate of unsolicited mail originating from your IP Netblock', 'rate'],
  ['mail', '550 5.7.511 Access denied, banned sender[192.0.2.1].', 'block'],
]

t.test('a limit that shaping acts on is the reason that people read', async (t) => {
  for (const [stage, line, signal] of rows) {
    const { reason } = classifyReply(stage, reply(line))
    if (signal === 'rate' || signal === 'sessions' || signal === 'messages') t.equal(reason, 'rate-limited', line)
    if (signal === 'block') t.not(reason, 'rate-limited', line)
  }
})

t.test('what replies say about the pace', async (t) => {
  for (const [stage, line, signal] of rows) t.equal(classifyReply(stage, reply(line)).pace, signal, `${stage}: ${line}`)
})
