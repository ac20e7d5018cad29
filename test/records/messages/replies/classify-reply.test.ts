import fc from 'fast-check'
import t from 'tap'
import { describeReason, type Reason, reasons } from '../../../../src/base/mail/reasons.js'
import type { Reply } from '../../../../src/base/mail/reply.js'
import {
  classifyFailure,
  classifyReply,
  type Failure,
  type Stage,
} from '../../../../src/records/messages/replies/classify-reply.js'

function reply(line: string): Reply {
  const found = /^(\d{3}) ?(?:([245]\.\d{1,3}\.\d{1,3})(?: |$))?(.*)$/.exec(line)
  return { code: Number(found?.[1]), enhanced: found?.[2] ?? null, text: found?.[3] ?? '' }
}

function reasonOf(line: string, stage: Stage = 'rcpt'): Reason {
  return classifyReply(stage, reply(line)).reason
}

const wordings: Readonly<Partial<Record<Reason, readonly string[]>>> = {
  'bad-mailbox': [
    '550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking https://support.google.com/mail/?p=NoSuchUser',
    '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302). [AM6EUR05FT032]',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
    '550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [DB5EUR01FT064.eop-EUR01.prod.protection.outlook.com]',
    "554 delivery error: dd This user doesn't have a yahoo.com account (a@yahoo.com) [0]",
    '554 delivery error: dd Requested mail action aborted, mailbox not found',
    '550 Message was not accepted -- invalid mailbox. Local mailbox a@mail.test is unavailable: user not found',
    '550 5.7.1 No such user!',
    '550 Mailbox not found. http://service.mail.qq.com/cgi-bin/help?id=20022',
    '550 User not found: a@163.test',
    '550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550',
    '550 #5.1.0 Address rejected.',
    '550 5.1.1 <a@b.test>: Recipient address rejected: User unknown in virtual mailbox table',
    '550 5.1.1 <a@b.test>: Recipient address rejected: undeliverable address: unknown user: "a"',
    '550 unknown user',
    '550 Unrouteable address',
    '550 sorry, no mailbox here by that name. (#5.1.1 - chkusr)',
    '550 5.1.1 <a@b.test>... User unknown',
    "550 5.1.1 <a@b.test> User doesn't exist: a@b.test",
    '550 5.1.1 Invalid recipient: <a@b.test>',
    '550 5.1.1 Not our Customer',
    '550 a@b.test... No such user',
    '550 Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416 [416]',
    '550 5.1.6 recipient no longer on server: a@b.test',
    '550 Requested action not taken: mailbox unavailable or not local',
    '550 5.1.1',
    '554 5.1.1 Rcpt <a@b.test> does not exist',
    '553 sorry, you are in badrcptto (#5.7.1)',
    '550 No mail box available for this user',
    '550 a@b.test is not an active address at this host',
    '550 BAD_RECIPIENT',
    '550 5.1.1 the addressee has moved',
    '550 Cannot find user a in the directory',
    '550 The account could not be found',
    '550 5.1.1 RCP-P1 Requested action not taken',
    '550 5.4.1 RESOLVER.ADR.ExRecipNotFound; gone',
    '550 El usuario no existe',
    '550 Der Benutzer ist unbekannt',
    '550 Casella postale inesistente',
    '550 Пользователь не найден',
    '550 收件人不存在',
  ],
  'mailbox-disabled': [
    '550 The account was closed',
    '550 User is locked because of long inactivity',
    '550 5.2.1 The mailbox cannot receive messages',
    '550 STOREDRV.Deliver.Exception:AccountDisabledException',
    '550 5.2.1 The email account that you tried to reach is inactive. https://support.google.com/mail/?p=DisabledUser',
    '554 30 Sorry, your message to a@yahoo.com cannot be delivered. This mailbox is disabled (554.30).',
    '550 Mailbox is frozen. See http://mail.i.ua/err/3/',
    '550 Account a@mail.test is disabled',
    '525 5.7.13 Disabled recipient address',
    '550 5.2.1 <a@b.test>',
    '550 mailbox for a@b.test is currently suspended',
  ],
  'mailbox-full': [
    '452 4.2.2 The email account that you tried to reach is over quota. https://support.google.com/mail/?p=OverQuotaTemp',
    "552 5.2.2 The recipient's inbox is out of storage space.",
    '554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException',
    '552 5.2.2 <a@b.test>: user is over quota',
    '552 5.2.2 <a@b.test> Quota exceeded (mailbox for user is full)',
    '552 Requested mail action aborted: exceeded storage allocation. Mailbox full',
    '550 5.7.1 Sorry, mailbox full',
    '550 mailbox is full: retry timeout exceeded',
    '550 <a@b.test>: quota exceeded: retry timeout exceeded',
    '452 4.2.2 Mailbox size limit exceeded',
    '552 sorry, mailbox a@b.test is over quota temporarily (#5.1.1)',
    '552 5.2.2',
    '550 5.7.1 too many messages in this mailbox',
    '450 The inbox holds too many messages',
    '554 The account of a exceeded its disk space',
    '552 insufficient disk space in mailbox',
    '550 Das Postfach des Benutzers ist voll',
    '552 Boîte aux lettres pleine',
    '552 该邮箱已满',
  ],
  'null-mx': [
    '550 the MX or SRV record indicated no SMTP service',
    '556 5.1.10 Recipient address has null MX',
    '550 5.1.10 a@b.test: domain does not accept mail',
  ],
  dns: [
    '550 Host not found, try again',
    '450 4.4.3 Name service error for name=b.test type=MX: Host not found, try again',
    '450 CNAME lookup failed temporarily',
  ],
  unreachable: [
    '421 Host not reachable',
    '450 4.4.1 mx.b.test did not answer',
    '550 host mx.b.test could not be reached',
  ],
  'connection-lost': ['450 4.4.2 lost connection with mx.b.test while sending RCPT TO'],
  'bad-domain': [
    '550 5.4.4 Name service error for name=b.test type=MX: Malformed or unexpected name server reply',
    '550 SMTPSEND.DNS.NonExistentDomain; b.test',
    '550 Unrouteable mail domain "b.test"',
    '553 b.test does not exist',
    "553 5.1.2 We weren't able to find the recipient domain. Please check for any spelling errors",
    '550 5.1.2 <a@b.test>: Recipient address rejected: Domain not found',
    '550 Host unknown',
    "554 Sorry, I couldn't find any host named b.test. (#5.1.2)",
  ],
  'spam-block': [
    '550 5.1.0 <x@y.test> sender rejected. AUP#CDRBL',
    '554 5.7.1 BL000001',
    '550 5.7.1 Mail from 192.0.2.7 refused',
    '550 192.0.2.7 is listed in a list of ours',
    "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3140).",
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.1',
    '554-gmx.net (mxgmx016) Nemesis ESMTP Service not available No SMTP service IP address is black listed.',
    "553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1, because the ip is in Spamhaus's list",
    '550 5.7.1 Our system has detected that this message is likely suspicious due to the very low reputation of the sending IP address',
    '554 IP=192.0.2.1 - A problem occurred. (Ask your postmaster for help or to contact tosa@rx.test to clarify.) (BL)',
    '550 5.7.606 Access denied, banned sending IP [192.0.2.1].',
    '550 Access from ip address 192.0.2.1 blocked. Visit http://mail.ru/ip',
    '554 5.7.1 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.1',
    "554 Your access to this mail system has been rejected due to the sending MTA's poor reputation.",
    '554 Service unavailable; Client host [mx.test] blocked using Barracuda Reputation; http://www.barracudanetworks.com/reputation/?r=1',
    '550 csi.mimecast.org Poor Reputation Sender. - https://community.mimecast.com/docs/DOC-1369#550',
    '421 HL:REP 163 smtp1 NhOowAA3 reputation',
    '550 JunkMail rejected - mx.test [192.0.2.1] is in an RBL',
  ],
  'spam-content': [
    '554 5.7.1 [2] Message rejected under suspicion of SPAM; https://ya.cc/1IrBc',
    '550 spam message rejected. Please visit http://help.mail.ru/notspam-support/id?c=1',
    '550 5.7.1 Message content rejected, UBE, id=00000-00-000',
    '554 DT:SPM 163 smtp10',
    '550 High probability of spam',
    '550 5.7.1 Our system has detected that this message is likely unsolicited mail.',
    '550 This message was classified as SPAM and may not be delivered',
  ],
  content: [
    '552 5.7.0 This message was blocked because its content presents a potential security issue.',
    '550 5.7.1 This message is not RFC 5322 compliant. There are multiple Subject headers. To reduce the amount of spam sent to Gmail, this message has been blocked.',
    '554 5.7.1 virus Eicar-Test-Signature detected by ClamAV',
    '550 5.6.11 SMTPSEND.BareLinefeedsAreIllegal; message contains bare linefeeds',
    "554 Transaction failed: Duplicate header 'DKIM-Signature'.",
  ],
  'too-large': [
    '554 5.7.1 rejected: Class=size',
    '550 larger than the current system limit',
    '552 5.3.4 Message size exceeds fixed limit',
    "552 5.3.4 Your message exceeded Google's message size limits.",
    '552 sorry, that message size exceeds my databytes limit (#5.3.4)',
    '550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient',
    '550 Message too large',
  ],
  authentication: [
    "550 5.7.26 Unauthenticated email from b.test is not accepted due to domain's DMARC policy.",
    '550 5.7.509 Access denied, sending domain [B.TEST] does not pass DMARC verification and has a DMARC policy of reject.',
    '550 5.7.23 The message was rejected because of Sender Policy Framework violation',
    '553 SPF check failed',
    '550 5.1.0 192.0.2.1 is not allowed to send from <b.test> per its SPF Record.',
    "554 5.7.1 Your message was rejected due to b.test's DMARC policy.",
    '550 Rejected by DKIM policy: signature missing',
  ],
  'reverse-dns': [
    '450 4.7.25 Client host rejected: cannot find your hostname, [192.0.2.1]',
    '554 Bad DNS PTR resource record. Reject due to policy restrictions.',
    '550 5.7.25 [192.0.2.1] The IP address sending this message does not have a PTR record setup',
    '550 5.7.1 Fix reverse DNS for 192.0.2.1',
    '504 5.5.2 <localhost>: Helo command rejected: need fully-qualified hostname',
  ],
  greylisted: [
    '450 4.2.0 <a@b.test>: Recipient address rejected: Greylisted, see http://postgrey.test/help',
    '451 4.7.1 Greylisting in action, please come back later',
    '451 Internal resources are temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451',
    '451 4.7.1 Sorry, the service is currently unavailable. Please come back later.',
    '554 5.7.1 greylisted, try again in 300 seconds',
  ],
  'rate-limited': [
    '450 4.2.1 The user you are trying to contact is receiving mail too quickly.',
    '421 4.7.28 Our system has detected an unusual rate of mail; throttled',
    '421 4.7.28 rate limited',
    '421 4.7.28 Our system has detected an unusual rate of unsolicited mail originating from your IP address.',
    '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
    '451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation.',
    '421 gmx.net Service closing transmission channel: too many connections from your IP',
    '550 Connection frequency limited [Q1Yz Blocked IP 192.0.2.22]. http://service.mail.qq.com/cgi-bin/help',
    '451 4.5.1 The recipient <a@b.test> has exceeded their message rate limit. Try again later.',
    '550 5.4.5 Daily sending quota exceeded',
    '451 MI:DMC 163 smtp1',
    '452 4.5.3 Too many recipients',
    '421 mwinf5c77 ME Trop de connexions, veuillez verifier votre configuration. Too many connections, slow down. OFR004_104 [104]',
  ],
  'relay-denied': [
    '554 5.7.1 <a@b.test>: Relay access denied',
    '550 5.7.1 <a@b.test>... Relaying denied. Proper authentication required.',
    '550 relay not permitted',
    "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
    '550 5.7.1 Unable to relay for a@b.test',
    '550-mx.test is currently not permitted to relay through this server',
    '503 This mail server requires authentication when attempting to send to a non-local e-mail address.',
  ],
  'sender-rejected': [
    '550 5.1.7 No such domain',
    '553 5.1.8 Domain not found',
    '550 AUP#CXSNDR',
    '550-Verification failed for <x@y.test> 550-No Such User Here 550 Sender verify failed',
    '553 5.1.8 <x@y.test>... Domain of sender address x@y.test does not exist',
    '501 5.1.8 Sender address rejected',
    '553 sorry, your envelope sender is in my badmailfrom list (#5.7.1)',
    '550 Rejected by header based manually blocked senders - https://community.mimecast.com/docs/DOC-1369#550',
    '550 5.1.0 <x@y.test> sender rejected.',
  ],
  'routing-loop': [
    '554 5.4.6 Too many hops',
    '554 5.4.14 Hop count exceeded - possible mail loop ATTR34',
    '554 This message is looping: it already has my Delivered-To line. (#5.4.6)',
  ],
  policy: [
    '554 5.7.9 [PH01] not accepted',
    '550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required',
    '521 5.2.1 We will not accept delivery of this message',
    '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes',
    '550 5.7.1 RESOLVER.RST.AuthRequired; authentication required',
    '550 5.7.0 Local Policy Violation',
    '550 Administrative prohibition',
    '554 Transaction failed. Reject due to policy restrictions.',
    '550 5.2.0 Message Filtered',
    '554 5.7.1 <a@b.test>: Recipient address rejected: Access denied',
  ],
  'remote-error': [
    '550 5.3.0 procmail exited with status 1',
    '452 4.3.1 out of disk space',
    '451 4.3.0 Temporary System Problem. Try again later',
    '452 4.3.1 Insufficient system storage',
    '451 Temporary local problem - please try later',
    '451 4.3.5 Server configuration problem',
    '451',
  ],
  tls: ['530 5.7.0 Must issue a STARTTLS command first'],
  credentials: ['530 5.7.0 Authentication required', '535 5.7.8 Username and password not accepted.'],
  'smtputf8-unsupported': ['553 5.6.7 Address requires SMTPUTF8', '550 5.6.7'],
  protocol: ['500 5.5.2 Error: bad syntax', '503 5.5.1 Bad sequence of commands', '502 Command not implemented'],
  unclassified: ['550 Rejected', '550', '554 5.0.0 Nyaan', '550 5.1.0 something', '450 4.2.0 Nyaan'],
}

t.test('the replies of providers are classified', async (t) => {
  for (const [reason, lines] of Object.entries(wordings)) {
    for (const line of lines) t.equal(reasonOf(line), reason, line)
  }
})

t.test('only a dead mailbox is the fault of the recipient', async (t) => {
  const dead: readonly string[] = ['bad-mailbox', 'mailbox-disabled', 'null-mx']
  for (const [reason, lines] of Object.entries(wordings)) {
    for (const line of lines) {
      const { recipientsFault, kind } = classifyReply('rcpt', reply(line))
      t.equal(recipientsFault, dead.includes(reason) && kind === 'permanent', line)
    }
  }
})

t.test('a reply about our own account, host or sender suppresses no recipient', async (t) => {
  const lines = [
    '550 5.7.1 Your account is suspended',
    '550 Client host name not found',
    '550 5.7.1 Sender account disabled',
    '550 The recipient does not have enough space',
    '550 IP address not found',
    '550-Verification failed for <x@y.test> 550-No Such User Here 550 Sender verify failed',
    '550 5.7.1 Client host blocked; mailbox unavailable',
    '554 5.7.1 Excessive unknown recipients - possible Open Relay',
    '550 5.1.7 No such domain',
    '550 5.1.7 unknown address',
    '550 Your e-mail address is invalid',
    '550 Reply-To address is not valid',
    '550 Invalid address in the From header',
    '550 The server for this recipient could not be found in DNS',
    '550 Address [192.0.2.1] is not listed in our table of hosts',
    '550 Mailbox of the sender does not exist',
    '550 5.7.27 Requested action not taken: mailbox unavailable; sender address has a null MX',
    '550 Requested action not taken: mailbox unavailable, invalid DNS MX or A resource record',
    '550 5.2.1 We will not accept delivery of this message',
    '550 5.7.1 User name or password invalid',
    '550 5.2.1 Mailbox temporarily disabled',
    '550 Domain of the recipient not found',
    '550 Recipient address rejected: relay host unknown',
  ]
  for (const line of lines) t.notOk(classifyReply('rcpt', reply(line)).recipientsFault, line)
})

t.test('a mailbox is not blamed for a matter of the moment, of this sender or of this message', (t) => {
  const lines = [
    '550 5.7.1 Recipient mailbox is locked, try again later',
    '550 mailbox is locked by another session',
    '550 account is limited',
    '550 5.1.1 Account locked due to maintenance',
    '550 mailbox has been moved to a new server, try again later',
    '550 mailbox for bob is not here yet',
    '550 mailbox closed on weekends',
    '550 User cannot receive messages while on vacation',
    '550 The mailbox cannot accept messages now, over disk',
    '550 5.7.0 Local policy violation: recipient invalid',
    '554 rejected due to policy: unknown user',
    '550 Mailbox unavailable: policy',
    '550 5.7.1 Unknown client host, user unknown in our whitelist',
    '550 user not found in allow list of senders',
    '550 account closed to mail from outside',
    '550 5.7.1 Access to this account is disabled for external senders',
    '550 5.1.1 DKIM: user key not found',
    '550 5.1.1 recipient invalid: message too large',
    '550 no valid recipients for message with virus',
  ]
  for (const line of lines) {
    t.notOk(classifyReply('rcpt', reply(line)).recipientsFault, line)
    t.notOk(classifyReply('message', reply(line)).recipientsFault, line)
  }
  t.ok(classifyReply('rcpt', reply('550 5.1.1 User unknown, check the address and try again')).recipientsFault)
  t.end()
})

t.test('a mailbox is blamed in reply to RCPT or to the message, nowhere else', async (t) => {
  const unknown = reply('550 5.1.1 User unknown')
  t.match(classifyReply('rcpt', unknown), { scope: 'recipient', recipientsFault: true, status: '5.1.1' })
  t.match(classifyReply('message', unknown), { scope: 'message', recipientsFault: true })
  t.match(classifyReply('data', unknown), { scope: 'message', recipientsFault: false })
  t.match(classifyReply('mail', unknown), { scope: 'sender', reason: 'sender-rejected', recipientsFault: false })
})

t.test('a temporary code about a mailbox suppresses no address yet', async (t) => {
  const answer = classifyReply('rcpt', reply('450 4.1.1 <a@b.test>: Recipient address rejected: User unknown'))
  t.match(answer, { kind: 'temporary', reason: 'bad-mailbox', recipientsFault: false })
})

t.test('an unclassified 5xx to RCPT is permanent and suppresses nothing', async (t) => {
  t.strictSame(classifyReply('rcpt', reply('550 Nyaan')), {
    kind: 'permanent',
    scope: 'recipient',
    reason: 'unclassified',
    status: '5.0.0',
    recipientsFault: false,
    isTransient: false,
    pace: null,
  })
})

t.test('421 ends the session at every stage, and is temporary', async (t) => {
  for (const stage of ['banner', 'ehlo', 'mail', 'rcpt', 'data', 'message'] as const) {
    t.match(classifyReply(stage, reply('421 4.3.2 bye')), { kind: 'temporary', scope: 'session' }, stage)
  }
})

t.test('a host that refuses any session says nothing about the recipient', async (t) => {
  for (const stage of ['connect', 'banner', 'ehlo', 'starttls', 'auth'] as const) {
    const answer = classifyReply(stage, reply('554 5.1.1 no such user; go away'))
    t.match(answer, { kind: 'temporary', scope: 'session', recipientsFault: false }, stage)
    t.match(answer.status, /^4\./)
  }
})

t.test('a 5xx about a passing matter is retried', async (t) => {
  t.equal(classifyReply('rcpt', reply('554 5.7.1 greylisted')).kind, 'temporary')
  t.equal(classifyReply('message', reply('550 Ip frequency limited')).kind, 'temporary')
  t.equal(classifyReply('rcpt', reply('550 Host not found, try again')).kind, 'temporary')
  t.equal(classifyReply('rcpt', reply('552 Too many recipients')).kind, 'temporary')
  t.equal(classifyReply('rcpt', reply('550 5.7.1 mailbox full')).kind, 'permanent')
  t.equal(classifyReply('message', reply('550 5.7.1 try again later')).kind, 'permanent')
})

t.test('the status takes the class of the decision, and is derived if there was none', async (t) => {
  t.equal(classifyReply('rcpt', reply('450 5.1.1 unknown')).status, '4.1.1')
  t.equal(classifyReply('rcpt', reply('554 5.7.1 greylisted')).status, '4.7.1')
  t.equal(classifyReply('rcpt', reply('550 no such user')).status, '5.1.1')
  t.equal(classifyReply('message', reply('552 message too large')).status, '5.3.4')
  t.equal(classifyReply('rcpt', reply('553 no thanks (#5.7.1)')).status, '5.7.1')
  t.equal(classifyReply('rcpt', reply('550')).status, '5.0.0')
})

t.test('an unexpected 2xx or 3xx is a fault of the session', async (t) => {
  t.match(classifyReply('data', reply('250 ok')), { kind: 'temporary', scope: 'session', reason: 'protocol' })
})

t.test('words inside addresses mean nothing', async (t) => {
  t.equal(reasonOf('550 5.1.1 <spam.virus@blacklist.test>: User unknown'), 'bad-mailbox')
  t.equal(reasonOf('550 <unknown-user@b.test>: Nyaan'), 'unclassified')
})

t.test('the rules hold for any text', async () => {
  const stages = ['connect', 'banner', 'ehlo', 'starttls', 'auth', 'mail', 'rcpt', 'data', 'message'] as const
  const words = ['user', 'unknown', 'mailbox', 'full', 'spam', 'blocked', '<a@b>', '5.1.1', '550-', 'your', 'sender']
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((parts) => parts.join(' ')),
  )
  const property = fc.property(
    fc.constantFrom(...stages),
    fc.integer({ min: 200, max: 599 }),
    fc.option(fc.constantFrom('5.1.1', '4.2.2', '5.7.999', '5.0.0')),
    text,
    (stage, code, enhanced, said) => {
      const answer = classifyReply(stage, { code, enhanced, text: said })
      const permanent = answer.kind === 'permanent'
      return (
        reasons.includes(answer.reason) &&
        answer.status.startsWith(permanent ? '5.' : '4.') &&
        (!permanent || (code >= 500 && answer.scope !== 'session')) &&
        (!answer.recipientsFault || (permanent && (stage === 'rcpt' || stage === 'message')))
      )
    },
  )
  fc.assert(property)
})

t.test('long hostile text costs no more than its length', async (t) => {
  const texts = [
    'user '.repeat(4000),
    '<'.repeat(9000),
    `a@${'b'.repeat(9000)}`,
    'ip '.repeat(5000),
    'spf '.repeat(4000),
  ]
  for (const said of texts) {
    t.ok(reasons.includes(classifyReply('rcpt', { code: 550, enhanced: null, text: said }).reason))
  }
})

t.test('a failure without a reply has a reason, and a hang-up in the handshake is TLS', async (t) => {
  const failures: readonly Failure[] = ['timeout', 'refused', 'reset', 'closed', 'tls', 'unreachable', 'protocol']
  for (const failure of failures) t.ok(reasons.includes(classifyFailure('connect', failure).reason), failure)
  t.equal(classifyFailure('starttls', 'reset').reason, 'tls')
  t.equal(classifyFailure('message', 'reset').reason, 'connection-lost')
})

t.test('every reason is one sentence', async (t) => {
  for (const reason of reasons) t.match(describeReason(reason), /^[A-Z][^.]*\.$/, reason)
})
