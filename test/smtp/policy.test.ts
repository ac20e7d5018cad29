/** What decides at the SMTP doors: replies, limits, the collecting of a message, the parsing of MAIL and RCPT. */
import fc from 'fast-check'
import t from 'tap'
import { addressKeyOf, networkKeyOf } from '../../src/accounts/client-address.js'
import { Refusal, type RefusalKind } from '../../src/mail/refusal.js'
import { ClientLog } from '../../src/platform/connections/client-log.js'
import {
  type ConnectionLimitSettings,
  type ConnectionOrigin,
  type ConnectionState,
  createConnectionLimiter,
} from '../../src/platform/connections/connection-limiter.js'
import { createBudgetShare, createMemoryBudget, type MemoryBudget } from '../../src/platform/memory/budget.js'
import { parseMail } from '../../src/smtp/commands/mail-command.js'
import { parsePathCommand } from '../../src/smtp/commands/path-command.js'
import { parseRcpt } from '../../src/smtp/commands/rcpt-command.js'
import { hasStatus, withStatus } from '../../src/smtp/server/enhanced-status.js'
import { asError } from '../../src/smtp/server/smtp-server-adapter.js'
import {
  buildNoRoomRefusal,
  ClientGone,
  type CollectedMessage,
  IncomingMessage,
} from '../../src/smtp/session/incoming-message.js'
import { ProtocolFault } from '../../src/smtp/session/protocol-fault.js'
import { toSmtpReply } from '../../src/smtp/session/smtp-reply.js'
import { type AuthLimit, createAuthLimit } from '../../src/smtp/submission/auth-limit.js'
import { waitUntil } from './submission-listener.js'

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
    'invalid-template-variables': '554 5.6.0',
    'domain-not-proved': '550 5.7.1',
    'dkim-not-proved': '550 5.7.1',
    'spf-not-proved': '550 5.7.1',
    'no-answer': '451 4.4.3',
    'storage-full': '452 4.3.1',
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

t.test('a status code is recognised where it stands, and only there', async (t) => {
  t.ok(hasStatus(550, '5.7.1 no'))
  t.ok(hasStatus(250, '2.0.0 Ok: queued'))
  t.notOk(hasStatus(550, '4.7.1 of another class'))
  t.notOk(hasStatus(550, 'see 5.7.1 there'))
  t.notOk(hasStatus(550, '5.7 no'))
  t.equal(withStatus('Server shutting down'), '4.3.2 Server shutting down')
  t.equal(withStatus('Bye'), 'Bye')
})

t.test('an IPv4 client counts by its address, an IPv6 client by its /64', async (t) => {
  t.equal(addressKeyOf('192.0.2.1'), '192.0.2.1')
  t.equal(addressKeyOf('::ffff:192.0.2.1'), '192.0.2.1')
  t.equal(addressKeyOf('2001:db8:1:2:3:4:5:6'), addressKeyOf('2001:db8:1:2::9'))
  t.not(addressKeyOf('2001:db8:1:2::9'), addressKeyOf('2001:db8:1:3::9'))
  t.equal(addressKeyOf('fe80::1%eth0'), addressKeyOf('fe80::2%eth0'))
  t.equal(addressKeyOf(''), '')
  t.equal(networkKeyOf('192.0.2.200'), networkKeyOf('::ffff:192.0.2.1'))
  t.not(networkKeyOf('192.0.2.200'), networkKeyOf('192.0.3.200'))
  t.equal(networkKeyOf('2001:db8:1:2::9'), networkKeyOf('2001:db8:1:ffff::1'))
  t.not(networkKeyOf('2001:db8:1:2::9'), networkKeyOf('2001:db8:2:2::9'))
  t.equal(networkKeyOf('nowhere'), null)
})

t.test('wrong keys', async (t) => {
  const settings = { failures: 3, window: 60, ban: 300, maxClients: 2 }
  const fail = (limit: AuthLimit, client: string, ...times: readonly number[]): readonly boolean[] =>
    times.map((now) => limit.recordFailure(client, now))

  t.test('bring a ban once there are enough within the window, and it ends', async (t) => {
    const limit = createAuthLimit(settings)
    t.same(fail(limit, 'a', 0, 30, 59), [false, false, true])
    t.ok(limit.isBanned('a', 59))
    t.ok(limit.isBanned('a', 358))
    t.notOk(limit.isBanned('a', 359))
    t.notOk(limit.isBanned('b', 59))
    t.same(fail(limit, 'a', 359), [false], 'and counting starts anew')
  })

  t.test('are forgotten once the window has moved on', async (t) => {
    t.same(fail(createAuthLimit(settings), 'a', 0, 30, 60, 89, 90), [false, false, false, true, true])
  })

  t.test('prolong a ban', async (t) => {
    const limit = createAuthLimit(settings)
    fail(limit, 'a', 0, 0, 0, 10)
    t.ok(limit.isBanned('a', 309))
    t.notOk(limit.isBanned('a', 310))
  })

  t.test('are remembered of a bounded number of clients', async (t) => {
    const limit = createAuthLimit(settings)
    for (let client = 0; client < 100; client++) fail(limit, `c${client}`, client)
    t.equal(limit.size(), 2)
    t.same(fail(limit, 'c99', 100, 101), [false, true], 'the latest are kept')
  })
})

/** Connections that are what the test says they are, and a list of those that gave way. */
function places(settings: Partial<ConnectionLimitSettings>) {
  const all = { maxConnections: 100, maxConnectionsPerAddress: 100, maxConnectionsPerNetwork: 100 }
  const limit = createConnectionLimiter({ ...all, ...settings })
  const gone: string[] = []
  const enter = (origin: ConnectionOrigin | null, name: string, standing: ConnectionState | null = null) =>
    limit.acquire(origin, { state: () => standing, evict: () => gone.push(name) })
  return { limit, gone, enter }
}

const from = (address: string): ConnectionOrigin => ({ address, network: address.slice(0, 1) })
const quiet = (rank: ConnectionState['rank'], since = 0): ConnectionState => ({ rank, since, isFresh: false })
const fresh: ConnectionState = { rank: 'unproved', since: 0, isFresh: true }

t.test('connections are limited in all, per address and per network', async (t) => {
  const { limit, enter } = places({ maxConnections: 4, maxConnectionsPerAddress: 2, maxConnectionsPerNetwork: 3 })
  const entered = ['a1', 'a1', 'a1', 'a2', 'a3', 'b1', 'c1'].map((address) => enter(from(address), address))
  const isPlace = (entry: unknown): boolean => typeof entry !== 'string'
  t.same(
    entered.map((entry) => isPlace(entry) || entry),
    [true, true, 'too-many-of-address', true, 'too-many-of-network', true, 'full'],
  )
  t.equal(enter(null, 'a proxy'), 'full')
  for (const entry of entered) {
    if (typeof entry === 'string') continue
    entry.release()
    entry.release()
  }
  t.equal(limit.countOpen(), 0, 'each is counted out once')
  for (const name of ['one', 'two', 'three', 'four']) {
    t.ok(isPlace(enter({ address: name, network: null }, name)), 'the limit of a network does not hold for it')
  }
})

t.test('where a limit is reached, who has the least use for a place gives way', async (t) => {
  t.test('in the order of ranks, and of one rank the one that is quiet for longest', async (t) => {
    const { gone, enter } = places({ maxConnections: 6 })
    enter(from('a1'), 'unread', quiet('unread'))
    enter(from('b1'), 'idle', quiet('idle'))
    enter(from('c1'), 'slow', quiet('slow', 5))
    enter(from('d1'), 'later', quiet('unproved', 4))
    enter(from('e1'), 'sooner', quiet('unproved', 3))
    enter(from('f1'), 'working')
    for (let more = 0; more < 5; more++) t.not(enter(null, 'new'), 'full')
    t.equal(enter(null, 'new'), 'full', 'who is at work stays')
    t.same(gone, ['sooner', 'later', 'slow', 'idle', 'unread'])
  })

  t.test('only one of its own where the limit is that of the address or network', async (t) => {
    const { gone, enter } = places({ maxConnectionsPerAddress: 2, maxConnectionsPerNetwork: 3 })
    enter(from('b1'), 'other', quiet('unproved'))
    enter(from('a1'), 'first', quiet('unproved', 2))
    enter(from('a1'), 'second', quiet('unproved', 1))
    enter(from('a1'), 'third')
    enter(from('a2'), 'fourth')
    enter(from('a3'), 'fifth')
    t.same(gone, ['second', 'first'])
    t.equal(enter(from('a3'), 'sixth'), 'too-many-of-network')
  })

  t.test('a fresh one only to a network that holds clearly fewer places', async (t) => {
    const { gone, enter } = places({ maxConnections: 26 })
    for (let at = 0; at < 14; at++) enter(from('a1'), 'a', { ...fresh, since: 14 - at })
    for (let at = 0; at < 12; at++) enter(from('b1'), 'b', fresh)
    t.not(enter(from('c1'), 'c', fresh), 'full')
    t.not(enter(from('c2'), 'c', fresh), 'full')
    t.same(gone, ['a', 'a'], 'of the network that holds most')
    t.equal(enter(from('c3'), 'c', fresh), 'full', 'by now none holds so many more')
    t.equal(enter(from('a2'), 'a', fresh), 'full')
  })
})

t.test('lines about clients are bounded for each of them and in all, and what is left out is counted', async (t) => {
  const told: unknown[] = []
  const write = (...said: readonly unknown[]): void => void told.push(said)
  const lines = new ClientLog({ info: write, warn: write }, addressKeyOf, { perClient: 2, total: 3, window: 50 })
  const loud = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8::4', '192.0.2.1', '192.0.2.2']
  for (const client of loud) lines.info({ client }, 'refused')
  lines.warn({ client: '2001:db8::1' }, 'a login failed')
  t.same(told, [
    [{ client: '2001:db8::1' }, 'refused'],
    [{ client: '2001:db8::2' }, 'refused'],
    [{ client: '192.0.2.1' }, 'refused'],
    [{ client: '2001:db8::1' }, 'a login failed'],
  ])
  await waitUntil(() => told.length === 5)
  const most = { '2001:db8:0:0::/64': 2, '192.0.2.2': 1 }
  t.same(told[4], [{ left_out: 3, most }, 'lines about clients were left out'])
  lines.info({ client: '2001:db8::4' }, 'refused')
  t.equal(told.length, 6, 'the next minute has its own')
})

function endMessage(message: IncomingMessage): Promise<CollectedMessage> {
  message.end()
  return message.collected
}

function feed(pieces: Iterable<Buffer>, maxSize: number, budget: MemoryBudget): Promise<CollectedMessage> {
  const message = new IncomingMessage(maxSize, budget)
  for (const piece of pieces) message.write(piece)
  message.end()
  return message.collected
}

t.test('a message is collected whole from pieces of any sizes', async () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 70_000 })), {
    maxLength: 80,
    size: 'max',
  })
  await fc.assert(
    fc.asyncProperty(sizes, async (lengths) => {
      const budget = createMemoryBudget(1e9)
      let byte = 0
      const pieces = lengths.map((length) => Buffer.alloc(length, byte++ % 251))
      const { raw, release } = await feed(pieces, 1e9, budget)
      const same = raw.equals(Buffer.concat(pieces)) && budget.usedBytes() === raw.length
      release()
      return same && budget.usedBytes() === 0
    }),
    { numRuns: 30 },
  )
})

const errorOf = (error: unknown): unknown => error

t.test('what is too large or finds no room is refused at its end, and holds nothing', async (t) => {
  const pieces = Array.from({ length: 10 }, () => Buffer.alloc(100))
  const budget = createMemoryBudget(1000)
  t.match(await feed(pieces, 999, budget).catch(errorOf), { kind: 'too-large' })
  t.equal(budget.usedBytes(), 0)
  budget.acquire(1)
  t.match(await feed(pieces, 1e6, budget).catch(errorOf), { kind: 'storage-full' })
  t.equal(budget.usedBytes(), 1)
  budget.release(1)
  const { raw } = await feed(pieces, 1000, budget)
  t.equal(raw.length, 1000)
  t.notOk(budget.hasRoomFor(1))
})

t.test('a message that breaks off holds nothing', async (t) => {
  const budget = createMemoryBudget(1000)
  const message = new IncomingMessage(1000, budget)
  message.write(Buffer.alloc(10))
  message.destroy()
  await t.rejects(message.collected, ClientGone)
  t.equal(budget.usedBytes(), 0)
  message.destroy()
  t.equal(budget.usedBytes(), 0)
})

t.test('where the memory is full, the message that comes slowest gives way, and no other', async (t) => {
  let now = 0
  const whole = createMemoryBudget(1_300)
  const budget = createBudgetShare(whole, 1_200, 2)
  const incoming = (): IncomingMessage => new IncomingMessage(1_000, budget, buildNoRoomRefusal, () => now)
  const [slow, slower] = [incoming(), incoming()]
  slow.write(Buffer.alloc(200))
  slower.write(Buffer.alloc(300))
  const early = incoming()
  early.write(Buffer.alloc(101))
  t.match(await endMessage(early).catch(errorOf), { kind: 'storage-full' }, 'in its first seconds none has to')
  t.notOk(budget.hasRoomFor(101))

  now += 5_000
  slow.write(Buffer.alloc(5))
  slower.write(Buffer.alloc(1))
  now += 5_000
  t.ok(budget.hasRoomFor(600), 'both would give way')
  t.notOk(budget.hasRoomFor(601))
  const late = incoming()
  late.write(Buffer.alloc(300))
  t.match([slow.held, slower.held, late.held], [205, 0, 300], 'to real bytes alone, and as many as are needed')
  t.match(await endMessage(slower).catch(errorOf), { kind: 'storage-full' }, 'it is read to its end and refused')
  const { raw, release } = await endMessage(slow)
  t.equal(raw.length, 205)
  now += 10_000
  t.ok(budget.hasRoomFor(395))
  t.notOk(budget.hasRoomFor(396), 'what is whole stays')
  t.ok(whole.acquire(291), 'the budget of all has room where a listener gives way')
  t.match(await endMessage(late).catch(errorOf), { kind: 'storage-full' })
  release()
  t.equal(budget.usedBytes(), 0)
})

t.test('a message that asks for more and is the slowest itself gives way to nobody twice', async (t) => {
  let now = 0
  const budget = createMemoryBudget(100)
  const message = new IncomingMessage(1_000, budget, buildNoRoomRefusal, () => now)
  message.write(Buffer.alloc(90))
  now += 10_000
  message.write(Buffer.alloc(20))
  t.equal(budget.usedBytes(), 0)
  t.match(await endMessage(message).catch(errorOf), { kind: 'storage-full' })
  t.equal(budget.usedBytes(), 0)
})

t.test('a message that has ended is not taken away by a client that leaves', async (t) => {
  const budget = createMemoryBudget(1000)
  const message = new IncomingMessage(1000, budget)
  message.end(Buffer.alloc(10))
  message.destroy()
  const { raw, release } = await message.collected
  t.equal(raw.length, 10)
  release()
  t.equal(budget.usedBytes(), 0)
})

t.test('commands with a path are taken apart', async (t) => {
  const parse = (line: string): unknown => {
    const { mailbox, ascii, parameters } = parsePathCommand(Buffer.from(line), 'MAIL FROM')
    return [mailbox, ascii, Object.fromEntries(parameters)]
  }
  t.same(parse('MAIL FROM:<>'), ['', true, {}])
  t.same(parse('mail from: <a@b>  SIZE=1   body=7BIT flag '), ['a@b', true, { SIZE: '1', BODY: '7BIT', FLAG: null }])
  t.same(parse('MAIL FROM:<"a\\">b c"@b> X=a=b'), ['"a\\">b c"@b', true, { X: 'a=b' }])
  t.same(parse('MAIL FROM:<@x,@y:a@b>'), ['a@b', true, {}])
  t.same(parse('MAIL FROM:<ä@b>'), ['ä@b', false, {}])
})

t.test('no bytes make the parsers throw anything but a fault of the client', async (t) => {
  const grammar = [
    'MAIL FROM:',
    'RCPT TO:',
    '<',
    '>',
    '"',
    '\\',
    '@',
    'a',
    'ä',
    ' ',
    '=',
    ';',
    'SIZE',
    'ORCPT=rfc822;',
    '+2B',
    '\0',
  ]
  const lines = fc.oneof(
    fc
      .array(fc.constantFrom(...grammar), { maxLength: 12 })
      .map((words) => Buffer.from(`MAIL FROM:<a@b> ${words.join('')}`)),
    fc.array(fc.constantFrom(...grammar), { maxLength: 16 }).map((words) => Buffer.from(words.join(''))),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  )
  const isClientFault = (parse: () => unknown): boolean => {
    try {
      parse()
      return true
    } catch (error) {
      return error instanceof ProtocolFault || error instanceof Refusal
    }
  }
  fc.assert(
    fc.property(
      lines,
      fc.boolean(),
      (line, smtputf8) =>
        isClientFault(() => parseMail(line, 1000)) &&
        isClientFault(() => parseRcpt(line, { hostname: 'mail.test', smtputf8 })),
    ),
    { numRuns: 2000 },
  )
  t.pass()
})
