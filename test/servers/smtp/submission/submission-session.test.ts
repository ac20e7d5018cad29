/** The policy of the submission session, by tables: verbs in, replies out, without sockets and without smtp-server. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { Refusal } from '../../../../src/base/mail/refusal.js'
import type { SubmittedMessage } from '../../../../src/outbound/sending/submitted-message.js'
import { defaultSubmissionLimits } from '../../../../src/servers/smtp/submission/submission-deps.js'
import { SubmissionGate } from '../../../../src/servers/smtp/submission/submission-gate.js'
import { SubmissionSession } from '../../../../src/servers/smtp/submission/submission-session.js'
import { createKeylessPrincipal, type Principal } from '../../../../src/workspaces/accounts/access/principal.js'
import { type SubmissionSettings, submissionSettings } from '../listener-settings.js'
import { type Step, say, TestConnection } from '../session-driver.js'
import type { SubmissionChanges } from '../submission-listener.js'

interface Opened {
  readonly session: SubmissionSession
  readonly connection: TestConnection
  readonly gate: SubmissionGate
  readonly accepted: readonly SubmittedMessage[]
}

const principal = createKeylessPrincipal('ws_1')
const host = createKeylessPrincipal('ws_1', parseAddress('host1@example.test'))
const letter = 'From: a@example.test\r\n\r\nhello\r\n'

async function authenticateGood(password: string): Promise<Principal> {
  if (password === 'good') return principal
  throw new Refusal('bad-credentials', 'wrong key')
}

function openSession(
  settings: SubmissionSettings = {},
  { authenticate = authenticateGood, trusted = () => null, accept, ...deps }: SubmissionChanges = {},
): Opened {
  const accepted: SubmittedMessage[] = []
  const gate = new SubmissionGate({
    access: {
      authenticate,
      findTrusted: trusted,
      async checkSender(_principal, from) {
        if (from.endsWith('@other.test')) throw new Refusal('sender-not-verified', 'not yours')
      },
    },
    acceptor: { accept: accept ?? (async (_principal, message) => ({ emailId: `em-${accepted.push(message)}` })) },
    hasDiskSpace: () => true,
    clock: () => 0,
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    hostname: 'mail.test',
    tls: { key: '', cert: '' },
    ...submissionSettings(settings),
    ...deps,
  })
  const connection = new TestConnection()
  const session = new SubmissionSession(gate, connection)
  connection.session = session
  t.teardown(() => session.close())
  return { session, connection, gate, accepted }
}

interface Dialogue {
  readonly name: string
  readonly settings?: SubmissionSettings
  readonly deps?: SubmissionChanges
  readonly connection?: Partial<TestConnection>
  readonly steps: readonly Step[]
}

const auth: Step = ['AUTH good', /^235 2\.7\.0 Authentication successful$/]
const mail: Step = ['MAIL FROM:<a@example.test>', /^250 2\.1\.0 Ok$/]
const rcpt: Step = ['RCPT TO:<b@remote.test>', /^250 2\.1\.5 Ok$/]
const data: Step = [`DATA ${letter}`, /^250 2\.0\.0 Ok: queued as em-\d$/]

const dialogues: readonly Dialogue[] = [
  { name: 'two messages, one after the other', steps: [auth, mail, rcpt, data, mail, rcpt, rcpt, data] },
  {
    name: 'MAIL needs a key, and AUTH comes before MAIL',
    steps: [
      [mail[0], /^530 5\.7\.0 Authentication required$/],
      auth,
      mail,
      [auth[0], /^503 5\.5\.1 AUTH is not allowed/],
    ],
  },
  {
    name: 'AUTH needs TLS',
    connection: { tls: null },
    steps: [
      [auth[0], /^538 5\.7\.11 Must issue a STARTTLS command first$/],
      [mail[0], /^530 5\.7\.0 Must issue a STARTTLS command first$/],
    ],
  },
  {
    name: 'AUTH without TLS from loopback, where the operator allows it',
    settings: { allow_plaintext_loopback: true },
    connection: { tls: null, remoteAddress: '127.0.0.1' },
    steps: [auth, mail],
  },
  {
    name: 'a sender that is no address, where senders are replaced',
    deps: { trusted: () => host },
    steps: [['MAIL FROM:<root@(none)>', /^250 2\.1\.0 Ok$/], rcpt, data, ['MAIL FROM:<root', /^501 /]],
  },
  {
    name: 'a sender that is no address, elsewhere',
    deps: { trusted: () => principal },
    steps: [['MAIL FROM:<root@(none)>', /^553 5\.1\.7 /]],
  },
  {
    name: 'lines that are too long, where they are wrapped',
    deps: { trusted: () => host, lineWrapper: { wrap: async () => Buffer.from(letter) } },
    steps: [mail, rcpt, [`DATA From: a@example.test\r\n\r\n${'x'.repeat(999)}\r\n`, /^250 2\.0\.0 /]],
  },
  {
    name: 'lines that are too long and cannot be wrapped',
    deps: { trusted: () => host, lineWrapper: { wrap: async () => null } },
    steps: [mail, rcpt, [`DATA From: a@example.test\r\n\r\n${'x'.repeat(999)}\r\n`, /^550 5\.6\.0 line 3 has 999/]],
  },
  {
    name: 'lines that are too long, elsewhere',
    deps: { trusted: () => principal, lineWrapper: { wrap: async () => Buffer.from(letter) } },
    steps: [mail, rcpt, [`DATA From: a@example.test\r\n\r\n${'x'.repeat(999)}\r\n`, /^550 5\.6\.0 line 3 has 999/]],
  },
  { name: 'a trusted network needs no key', deps: { trusted: () => principal }, steps: [mail, rcpt, data] },
  {
    name: 'too many wrong keys',
    settings: { maxAuthFailures: 2 },
    steps: [
      ['AUTH bad', /^535 5\.7\.8 wrong key$/],
      ['AUTH bad', /^535 5\.7\.8 wrong key\|421 4\.7\.0 Too many wrong keys/],
    ],
  },
  {
    name: 'keys that cannot be checked',
    deps: {
      async authenticate() {
        throw new Error('secret')
      },
    },
    steps: [[auth[0], /^454 4\.7\.0 Temporary authentication failure$/]],
  },
  {
    name: 'verbs out of order',
    steps: [
      auth,
      [rcpt[0], /^503 5\.5\.1 need MAIL command$/],
      mail,
      [mail[0], /^503 5\.5\.1 nested MAIL command$/],
      [`DATA ${letter}`, /^503 5\.5\.1 Error: need RCPT command$/],
    ],
  },
  {
    name: 'a sender that the key may not name, and one recipient too many',
    settings: { max_recipients: 1 },
    steps: [
      auth,
      ['MAIL FROM:<a@other.test>', /^550 5\.7\.1 not yours$/],
      mail,
      rcpt,
      rcpt,
      ['RCPT TO:<c@remote.test>', /^452 4\.5\.3 at most 1 recipients/],
    ],
  },
  { name: 'a full disk', deps: { hasDiskSpace: () => false }, steps: [auth, [mail[0], /^452 4\.3\.1 /]] },
  {
    name: 'a fault of ours',
    deps: { accept: async () => Promise.reject(new Error('secret')) },
    steps: [auth, mail, rcpt, [`DATA ${letter}`, /^451 4\.3\.0 local error, try again later$/]],
  },
]

for (const { name, settings, deps, connection: facts, steps } of dialogues) {
  t.test(name, async (t) => {
    const { session, connection, gate } = openSession(settings, deps)
    Object.assign(connection, facts)
    t.equal(await session.connect(), null)
    for (const [line, expected] of steps) t.match(await say(session, connection, line), expected, line.slice(0, 60))
    session.close()
    t.equal(gate.memory.usedBytes(), 0)
  })
}

t.test('the Received field tells how a message came', async (t) => {
  const { session, connection, accepted } = openSession()
  await session.connect()
  for (const [line] of [auth, mail, rcpt, data]) await say(session, connection, line)
  for (const line of ['MAIL FROM:<a@example.test> SMTPUTF8', rcpt[0], data[0]]) await say(session, connection, line)
  connection.isExtended = false
  for (const [line] of [mail, rcpt, data]) await say(session, connection, line)
  t.same(
    accepted.map(({ protocol }) => protocol),
    ['ESMTPSA', 'UTF8SMTPSA', 'SMTP'],
  )
})

t.test('a key that was sent before TLS is forgotten', async (t) => {
  const { session, connection } = openSession({ allow_plaintext_loopback: true })
  Object.assign(connection, { tls: null, remoteAddress: '::1' })
  await session.connect()
  await say(session, connection, auth[0])
  t.same(session.principal, principal)
  session.reset()
  session.onSecure()
  t.equal(session.principal, null)
})

t.test('an address with too many wrong keys is refused instead of greeted', async (t) => {
  const { session, connection, gate } = openSession({
    maxAuthFailures: 2,
    authFailures: { ...defaultSubmissionLimits.authFailures, failures: 2 },
  })
  await session.connect()
  for (const line of ['AUTH bad', 'AUTH bad']) await say(session, connection, line)
  t.match(await new SubmissionSession(gate, new TestConnection()).connect(), { code: 421, status: '4.7.0' })
})

t.test('a client must log in within its time, be it in a handshake', async (t) => {
  const plain = openSession({ auth_timeout: 0 })
  const upgrading = openSession({ auth_timeout: 0 })
  upgrading.connection.isInHandshake = true
  await plain.session.connect()
  await upgrading.session.connect()
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.same(plain.connection.replies, ['421 4.4.2 AUTH did not come in time'])
  t.ok(upgrading.connection.isDestroyed)
  t.same(upgrading.connection.replies, [])
})

t.test('a key that is revoked while it is looked up opens no session', async (t) => {
  const lookups: PromiseWithResolvers<Principal>[] = []
  const authenticate = (): Promise<Principal> => {
    const lookup = Promise.withResolvers<Principal>()
    lookups.push(lookup)
    return lookup.promise
  }
  const { session, gate } = openSession({}, { authenticate })
  session.connect()
  const reply = session.auth('good')
  gate.accessEndings += 1
  lookups[0]?.resolve(principal)
  await new Promise((resolve) => setImmediate(resolve))
  lookups[1]?.reject(new Refusal('bad-credentials', 'the key is revoked'))
  t.match(await reply, { code: 535 })
  t.equal(session.principal, null)
})

t.test('a ban holds for keys that are being looked up', async (t) => {
  const gate = Promise.withResolvers<void>()
  const authenticate = async (key: string): Promise<Principal> => {
    if (key.startsWith('slow ')) await gate.promise
    return authenticateGood(key.replace('slow ', ''))
  }
  const authFailures = { ...defaultSubmissionLimits.authFailures, failures: 2 }
  const { session } = openSession({ authFailures, maxAuthFailures: 10 }, { authenticate })
  const slow = ['slow good', 'slow bad'].map((key) => session.auth(key))
  for (let times = 0; times < 2; times += 1) t.match(await session.auth('bad'), { code: 535 })
  gate.resolve()
  t.match(await Promise.all(slow), [{ code: 421 }, { code: 421 }])
  t.equal(session.principal, null)
})
