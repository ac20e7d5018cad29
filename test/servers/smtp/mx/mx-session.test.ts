/** The policy of the MX session, by tables: verbs in, replies out, without sockets and without smtp-server. */
import t from 'tap'
import type { ReceivedMessage } from '../../../../src/inbound/receiving/authentication/received-message.js'
import { MxGate } from '../../../../src/servers/smtp/mx/mx-gate.js'
import { MxSession } from '../../../../src/servers/smtp/mx/mx-session.js'
import { type MxSettings, mxSettings } from '../listener-settings.js'
import { type MxChanges, mxRooms } from '../mx-listener.js'
import { type Step, say, TestConnection } from '../session-driver.js'

interface Opened {
  readonly session: MxSession
  readonly connection: TestConnection
  readonly gate: MxGate
  readonly accepted: readonly ReceivedMessage[]
  readonly waits: readonly number[]
}

const letter = 'From: a@sender.test\r\n\r\nhello\r\n'

type Changes = Pick<MxChanges, 'checkRecipient' | 'accept' | 'findListings' | 'hasDiskSpace'>

const checkRecipient: NonNullable<MxChanges['checkRecipient']> = (address) =>
  address.startsWith('no') ? 'unknown-recipient' : { workspaceId: address.slice(-8) }

function openSession(settings: MxSettings = {}, changes: Changes = {}): Opened {
  const accepted: ReceivedMessage[] = []
  const waits: number[] = []
  const gate = new MxGate({
    ...mxRooms({ checkRecipient, ...changes }, accepted),
    schedule(milliseconds, act) {
      waits.push(milliseconds)
      act()
      return () => undefined
    },
    clock: () => 0,
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    hostname: 'mx.test',
    tls: { key: '', cert: '' },
    ...mxSettings(settings),
  })
  const connection = new TestConnection()
  const session = new MxSession(gate, connection)
  connection.session = session
  t.teardown(() => session.close())
  return { session, connection, gate, accepted, waits }
}

interface Dialogue {
  readonly name: string
  readonly settings?: MxSettings
  readonly deps?: Changes
  readonly steps: readonly Step[]
}

const mail: Step = ['MAIL FROM:<a@sender.test>', /^250 2\.1\.0 Ok$/]
const rcpt: Step = ['RCPT TO:<bob@one.test>', /^250 2\.1\.5 Ok$/]
const data: Step = [`DATA ${letter}`, /^250 2\.0\.0 Ok: queued as mail-\d$/]

const dialogues: readonly Dialogue[] = [
  { name: 'two messages, one after the other', steps: [mail, rcpt, data, mail, rcpt, data] },
  {
    name: 'verbs out of order',
    steps: [
      ['RCPT TO:<bob@one.test>', /^503 5\.5\.1 need MAIL command$/],
      [`DATA ${letter}`, /^503 5\.5\.1 Error: need RCPT command$/],
      mail,
      ['MAIL FROM:<b@sender.test>', /^503 5\.5\.1 nested MAIL command$/],
      [`DATA ${letter}`, /^503 5\.5\.1 Error: need RCPT command$/],
      rcpt,
      ['RSET', /^250 /],
      ['RCPT TO:<bob@one.test>', /^503 5\.5\.1 need MAIL command$/],
    ],
  },
  {
    name: 'refused recipients',
    settings: { max_refused_recipients: 2 },
    steps: [
      mail,
      ['RCPT TO:<no1@one.test>', /^550 5\.1\.1 No such recipient here$/],
      ['RCPT TO:<no2@one.test>', /^550 5\.1\.1 /],
      ['RCPT TO:<no3@one.test>', /^421 4\.7\.0 Too many recipients were refused$/],
    ],
  },
  {
    name: 'one message for at most so many recipients and workspaces',
    settings: { max_recipients: 3, maxWorkspaces: 2 },
    steps: [
      mail,
      rcpt,
      rcpt,
      ['RCPT TO:<bob@two.test>', /^250 /],
      ['RCPT TO:<bob@six.test>', /^452 4\.5\.3 one message goes to a few organisations/],
      ['RCPT TO:<ann@one.test>', /^250 /],
      ['RCPT TO:<eve@one.test>', /^452 4\.5\.3 at most 3 recipients/],
    ],
  },
  {
    name: 'a workspace that may lack room shares no message',
    deps: { checkRecipient: (address) => ({ workspaceId: address, alone: address.startsWith('full') }) },
    steps: [mail, rcpt, ['RCPT TO:<full@one.test>', /^452 4\.5\.3 /]],
  },
  {
    name: 'one message for at most so many forwarding rules',
    settings: { maxForwardRules: 1 },
    deps: {
      checkRecipient: (address) => ({ workspaceId: 'ws', forwardRule: address.startsWith('b') ? address : null }),
    },
    steps: [
      mail,
      rcpt,
      ['RCPT TO:<ann@one.test>', /^250 /],
      ['RCPT TO:<ben@one.test>', /^452 4\.5\.3 one message is forwarded from a few addresses/],
      ['RCPT TO:<amy@one.test>', /^250 /],
    ],
  },
  {
    name: 'a client on block lists reaches the postmaster only',
    settings: { refuse_listed_from: 1 },
    deps: { findListings: async () => [{ list: 'bl.test', weight: 2, text: null } as never] },
    steps: [mail, ['RCPT TO:<bob@one.test>', /^550 5\.7\.1 /], ['RCPT TO:<postmaster@one.test>', /^250 /]],
  },
  {
    name: 'a full disk',
    deps: { hasDiskSpace: () => false },
    steps: [['MAIL FROM:<a@sender.test>', /^451 4\.3\.1 /]],
  },
  { name: 'a full mailbox', deps: { checkRecipient: () => 'mailbox-full' }, steps: [mail, [rcpt[0], /^452 4\.2\.2 /]] },
  {
    name: 'addresses as other servers write them',
    steps: [
      [`MAIL FROM:<${'x'.repeat(200)}=${'y'.repeat(30)}@sender.test>`, /^250 /],
      ['RCPT TO:<a..b.@one.test>', /^250 /],
      [`RCPT TO:<${'x'.repeat(90)}@one.test>`, /^250 /],
      ['RCPT TO:<a b@one.test>', /^(?:501|553) /],
    ],
  },
  {
    name: 'a network that brings too many bytes',
    settings: { bytes_per_minute: 100, max_size: 1_000 },
    steps: [
      ['MAIL FROM:<a@sender.test> SIZE=40', /^250 /],
      rcpt,
      [`DATA X: ${'x'.repeat(33)}\r\n\r\n`, /^250 /],
      ['MAIL FROM:<a@sender.test> SIZE=61', /^452 4\.7\.1 Too many bytes of mail from your network in a minute/],
      ['MAIL FROM:<a@sender.test> SIZE=60', /^250 /],
      ['RSET', /^250 /],
      mail,
      rcpt,
      [`DATA ${letter}${'x'.repeat(1_100)}`, /^452 4\.7\.1 /],
      ['MAIL FROM:<a@sender.test>', /^452 4\.7\.1 /],
    ],
  },
  {
    name: 'messages that are refused',
    settings: { max_size: 4000 },
    steps: [
      mail,
      rcpt,
      [`DATA ${letter}bare\nline`, /^550 5\.6\.11 /],
      mail,
      rcpt,
      [`DATA ${'Received: x\r\n'.repeat(51)}${letter}`, /^554 5\.4\.6 more than 50 Received fields/],
      mail,
      rcpt,
      [`DATA ${'x'.repeat(4001)}`, /^552 5\.3\.4 /],
      ['MAIL FROM:<a@sender.test> SIZE=4001', /^552 5\.3\.4 /],
    ],
  },
  {
    name: 'a client with too many faults',
    settings: { maxFaults: 2 },
    steps: [
      ['RCPT TO:<bob@one.test>', /^503 /],
      ['RCPT TO:<bob@one.test>', /^503 [^|]*\|421 4\.7\.0 Too many errors$/],
    ],
  },
  {
    name: 'a client of many commands and no message',
    settings: { max_recipients: 1 },
    steps: [
      ...Array.from({ length: 500 }, (): Step => ['NOOP', /^250 [^|]*$/]),
      ['RSET', /^250 [^|]*$/],
      ['NOOP', /^250 [^|]*\|421 4\.7\.0 Too many commands without a message$/],
    ],
  },
  {
    name: 'too many messages from one address',
    settings: { messages_per_minute: 1 },
    steps: [mail, rcpt, data, [mail[0], /^451 4\.7\.1 /]],
  },
  {
    name: 'a fault of ours',
    deps: { accept: async () => Promise.reject(new Error('secret')) },
    steps: [mail, rcpt, [`DATA ${letter}`, /^451 4\.3\.0 local error, try again later$/]],
  },
]

for (const { name, settings, deps, steps } of dialogues) {
  t.test(name, async (t) => {
    const { session, connection, gate } = openSession(settings, deps)
    t.equal(await session.connect(), null)
    for (const [line, expected] of steps) t.match(await say(session, connection, line), expected, line.slice(0, 60))
    session.close()
    t.equal(gate.memory.usedBytes(), 0)
  })
}

t.test('each refused recipient waits longer for its reply', async (t) => {
  const { session, connection, waits } = openSession({ greetingDelay: 0, tarpit: 1000, max_refused_recipients: 10 })
  await session.connect()
  await say(session, connection, mail[0])
  for (const name of ['no1', 'no2', 'no3']) await say(session, connection, `RCPT TO:<${name}@one.test>`)
  t.same(waits, [100, 200])
})

t.test('a client that speaks before the greeting is noted, or refused', async (t) => {
  const noted = openSession()
  t.equal(noted.session.onEarlyCommand(), null)
  t.equal(await noted.session.connect(), null)
  for (const [line] of [mail, rcpt, data]) await say(noted.session, noted.connection, line)
  t.match(noted.accepted, [{ client: { earlyTalker: true, helo: 'client.test' }, protocol: 'ESMTPS' }])

  const refused = openSession({ early_talkers: 'refuse' })
  t.match(refused.session.onEarlyCommand(), { code: 554 })
  refused.connection.hasUnreadInput = true
  t.match(await refused.session.connect(), { code: 554 }, 'a line without its end is speech too')
})

t.test('a session ends at once, or after the message that is coming in', async (t) => {
  const reply = { code: 421, status: '4.3.2', text: 'bye' }
  const idle = openSession()
  idle.session.finish(reply, 1000)
  t.same(idle.connection.replies, ['421 4.3.2 bye'])

  const { session, connection } = openSession()
  for (const [line] of [mail, rcpt]) await say(session, connection, line)
  const transfer = await session.data()
  if (transfer === null || 'code' in transfer) throw new Error('no transfer')
  session.finish(reply, 1000)
  t.equal(session.state(), null, 'it keeps its slot')
  t.equal(connection.replies.length, 2)
  transfer.message.end(Buffer.from(letter))
  t.match(await transfer.stored, { code: 250 })
  session.reset()
  t.equal(connection.replies.at(-1), '421 4.3.2 bye')
})

t.test('a client that leaves in the middle of its message gets no reply, and its memory is free', async (t) => {
  const { session, connection, gate } = openSession()
  for (const [line] of [mail, rcpt]) await say(session, connection, line)
  const transfer = await session.data()
  if (transfer === null || 'code' in transfer) throw new Error('no transfer')
  transfer.message.write(Buffer.from(letter))
  t.equal(gate.memory.usedBytes(), letter.length)
  transfer.message.destroy()
  session.close()
  t.equal(await transfer.stored, null)
  t.equal(gate.memory.usedBytes(), 0)
})

t.test('what the connection limiter may judge', async (t) => {
  const { session, connection } = openSession()
  t.match(session.state(), { rank: 'unproved', since: 0, isFresh: true })
  for (const [line] of [mail, rcpt, data]) await say(session, connection, line)
  t.match(session.state(), { rank: 'idle' })
  session.evict()
  t.match(connection.replies.at(-1), /^421 4\.4\.2 /)
  t.ok(connection.isDestroyed)
})
