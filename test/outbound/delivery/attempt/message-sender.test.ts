import t, { type Test } from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import {
  type AttemptLimits,
  defaultAttemptLimits,
  judgeSendResult,
  mayTryAnother,
  pickMoreInformative,
} from '../../../../src/outbound/delivery/attempt/judge-exchange.js'
import { type Call, CallLimiter, MessageSender } from '../../../../src/outbound/delivery/attempt/message-sender.js'
import type { Destination, Host } from '../../../../src/outbound/delivery/hosts/destination.js'
import { HostConcurrency } from '../../../../src/outbound/delivery/queue/host-concurrency.js'
import type { SessionPool } from '../../../../src/outbound/delivery/sessions/session-pool.js'
import type { Outage } from '../../../../src/outbound/delivery/shaping/unreachable-hosts.js'
import type { AttemptResult } from '../../../../src/outbound/delivery/smtp/attempt-result.js'
import type { OutboundMessage } from '../../../../src/outbound/delivery/smtp/outbound-message.js'
import type { Exchange, SendResult } from '../../../../src/outbound/delivery/smtp/send-result.js'
import type { Timeouts } from '../../../../src/outbound/delivery/smtp/timeouts.js'
import type { Stage } from '../../../../src/records/messages/replies/classify-reply.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import {
  openSink,
  type ScriptedSink,
  type SinkAnswer,
  type SinkOptions,
  type SinkStage,
} from '../../../helpers/smtp/scripted-sink.js'
import { clientDeps, hostAt, never, outbound, poolOf } from '../../../helpers/smtp/sink-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const certificate = await createSelfSigned(['mx.test'])
const message = outbound('Subject: x\r\n\r\nhello\r\n')
interface AttemptDeps {
  readonly acquireSlot: Call['acquireSlot']
  readonly send: (host: Host, message: OutboundMessage, signal: AbortSignal) => Promise<Exchange | Outage>
  readonly clock: () => number
  readonly limits: AttemptLimits
}

/** The dependencies of every attempt, except `send`. */
const commonDeps: Omit<AttemptDeps, 'send'> = {
  acquireSlot: async () => () => undefined,
  clock: () => 0,
  limits: defaultAttemptLimits,
}
const names = { hostname: parseDomainName('us.test'), zone: parseDomainName('zone.test') }

function attemptDelivery(
  message: OutboundMessage,
  destination: Destination,
  { acquireSlot, send, clock, limits }: AttemptDeps,
  signal: AbortSignal,
): Promise<AttemptResult | Outage> {
  const deps = { pool: { send }, clock, names, onTlsResult: () => undefined }
  const call = { ignoreOutages: false, acquireSlot, onSent: () => undefined, number: 1 }
  return new MessageSender(deps, limits).send(message, destination, call, signal)
}

async function sinkFor(t: Test, options: SinkOptions = {}): Promise<ScriptedSink> {
  const sink = await openSink(options)
  t.teardown(() => sink.close())
  return sink
}

async function sendTo(t: Test, hosts: readonly Host[], shortTimeouts: Partial<Timeouts> = {}): Promise<AttemptResult> {
  const pool = poolOf(clientDeps(shortTimeouts))
  t.teardown(() => pool.close())
  return requireAttempt(
    attemptDelivery(message, { kind: 'hosts', hosts }, { ...commonDeps, send: sendThrough(pool) }, never),
  )
}

async function requireAttempt(outcome: ReturnType<typeof attemptDelivery>): Promise<AttemptResult> {
  const result = await outcome
  if ('until' in result) throw new Error('no attempt was made')
  return result
}

function sendThrough(pool: SessionPool): AttemptDeps['send'] {
  return (host, message, signal) => pool.send(host, message, signal)
}

const stages = ['banner', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'message'] as const
const misbehaviours: readonly SinkAnswer[] = [
  '421 4.3.2 closing',
  '451 4.3.0 later',
  '550 5.1.1 never',
  'hang',
  'drop',
  'reset',
]
const silence: Readonly<Record<string, string>> = { hang: 'timeout', drop: 'connection-lost', reset: 'connection-lost' }

/** The outcome when the only host does `misbehaviour` at `stage`. */
function expected(stage: (typeof stages)[number], misbehaviour: SinkAnswer): object {
  if (stage === 'starttls') return { kind: 'accepted', final: true }
  const reason = silence[misbehaviour]
  if (reason !== undefined) return { kind: 'deferred', reason, reached: stage !== 'banner' }
  const early = stage === 'banner' || stage === 'ehlo'
  if (misbehaviour.startsWith('550') && !early) return { kind: 'refused', response: misbehaviour, status: '5.1.1' }
  return { kind: 'deferred', reached: true, response: misbehaviour }
}

for (const stage of stages) {
  t.test(`a server that misbehaves at ${stage}`, async (t) => {
    for (const misbehaviour of misbehaviours) {
      const script: Partial<Record<SinkStage, SinkAnswer>> = {
        [stage]: misbehaviour,
        ...(stage === 'ehlo' ? { helo: misbehaviour } : {}),
      }
      const sink = await sinkFor(t, stage === 'starttls' ? { script, certificate } : { script })
      const { outcome, peer } = await sendTo(t, [hostAt(sink)], misbehaviour === 'hang' ? { [stage]: 60 } : {})
      t.match(outcome, expected(stage, misbehaviour), misbehaviour)
      t.match(peer, { mx: 'mx.test', address: '127.0.0.1', tls: null }, misbehaviour)
      t.equal(sink.messages.length, stage === 'starttls' ? 1 : 0, misbehaviour)
    }
  })
}

t.test('a message is accepted', async (t) => {
  const sink = await sinkFor(t, { certificate })
  const { outcome, peer, transcript } = await sendTo(t, [hostAt(sink, { final: false })])
  t.match(outcome, { kind: 'accepted', final: false, dsnRelayed: true, reply: { code: 250 } })
  t.same(peer, { mx: 'mx.test', address: '127.0.0.1', tls: 'TLSv1.3' })
  t.match(transcript, /STARTTLS.*encrypted, TLSv1\.3.*> MAIL.*< 250 2\.0\.0 taken/s)
})

t.test('the next host is called when one refuses, and the transcript has both', async (t) => {
  const deaf = await sinkFor(t, { script: { banner: '554 5.7.1 go away' } })
  const good = await sinkFor(t)
  const { outcome, peer, transcript } = await sendTo(t, [
    hostAt(deaf, { mx: 'one.test' }),
    hostAt(good, { mx: 'two.test' }),
  ])
  t.match(outcome, { kind: 'accepted' })
  t.match(peer, { mx: 'two.test' })
  t.match(transcript, /one\.test.*554 5\.7\.1 go away.*two\.test.*taken/s)
})

t.test('a message over the size limit of a host is refused with the limit', async (t) => {
  const sink = await sinkFor(t, { extensions: ['SIZE 5'] })
  const { outcome } = await sendTo(t, [hostAt(sink)])
  t.match(outcome, { kind: 'refused', reason: 'too-large', status: '5.3.4', recipientsFault: false })
})

const ok: SendResult = { kind: 'accepted', reply: { code: 250, enhanced: null, text: 'ok' }, dsnRelayed: false }
const replyAt = (stage: Stage, code: number, enhanced: string | null = null, text = 'so it is'): SendResult => ({
  kind: 'refused',
  stage,
  reply: { code, enhanced, text },
})
const down: Outage = { kind: 'outage', until: 30_000, why: 'mx.test [127.0.0.1]:25 (connection refused)' }
const connectionLostAt = (stage: Stage): SendResult => ({
  kind: 'failed',
  stage,
  failure: 'closed',
  detail: 'connection closed',
})
const host = hostAt({ port: 25 })

t.test('an exchange has one outcome, and may lead on to the next host', async (t) => {
  const table: readonly [SendResult, object, boolean][] = [
    [ok, { kind: 'accepted', final: true }, false],
    [
      { kind: 'unsendable', reply: { code: 553, enhanced: '5.6.7', text: '' } },
      { kind: 'refused', reason: 'smtputf8-unsupported', status: '5.6.7', response: /^not sent: / },
      false,
    ],
    [
      replyAt('rcpt', 550, '5.1.1'),
      { kind: 'refused', recipientsFault: true, status: '5.1.1', response: '550 5.1.1 so it is' },
      false,
    ],
    [replyAt('mail', 550, '5.7.1'), { kind: 'refused', recipientsFault: false }, false],
    [replyAt('message', 554, '5.7.1'), { kind: 'refused', recipientsFault: false }, false],
    [replyAt('mail', 530, '5.7.0', 'Must issue a STARTTLS command first'), { kind: 'deferred', reason: 'tls' }, true],
    [replyAt('banner', 554), { kind: 'deferred', reached: true }, true],
    [replyAt('ehlo', 550), { kind: 'deferred', reached: true }, true],
    [replyAt('auth', 535), { kind: 'deferred', reached: true }, true],
    [replyAt('rcpt', 451), { kind: 'deferred', reached: true }, true],
    [replyAt('message', 421), { kind: 'deferred', reached: true }, true],
    [
      connectionLostAt('connect'),
      { kind: 'deferred', reached: false, response: 'mx.test [127.0.0.1]:25: connection closed while connecting' },
      true,
    ],
    [connectionLostAt('banner'), { kind: 'deferred', reached: false }, true],
    [connectionLostAt('data'), { kind: 'deferred', reached: true }, true],
    [connectionLostAt('message'), { kind: 'deferred', reached: true, response: /may arrive twice/ }, false],
  ]
  for (const [sent, outcome, onward] of table)
    t.match(judgeSendResult(sent, host), { outcome, shouldTryNext: onward }, JSON.stringify(sent))
})

t.test('our own faults bounce no mail', async (t) => {
  const smarthost = hostAt({ port: 25 }, { final: false })
  const login = 'authentication required'
  const norelay = 'relay access denied'
  const table: readonly [Host, SendResult, AttemptResult['outcome']['kind']][] = [
    [host, replyAt('mail', 530, '5.7.0', login), 'deferred'],
    [host, replyAt('rcpt', 530, '5.7.1', 'Client was not authenticated'), 'deferred'],
    [host, replyAt('mail', 538, '5.7.11', 'encryption first'), 'deferred'],
    [host, replyAt('mail', 503, '5.5.1', 'bad sequence of commands'), 'deferred'],
    [host, replyAt('data', 501, '5.5.4', 'syntax error in parameters'), 'deferred'],
    [host, replyAt('rcpt', 550, '5.7.1', norelay), 'refused'],
    [smarthost, replyAt('rcpt', 550, '5.7.1', norelay), 'deferred'],
    [smarthost, replyAt('mail', 550, '5.7.1', login), 'deferred'],
    [smarthost, replyAt('rcpt', 550, '5.1.1', 'no such user'), 'refused'],
  ]
  for (const [to, sent, kind] of table)
    t.equal(judgeSendResult(sent, to).outcome.kind, kind, JSON.stringify([to.final, sent]))
})

t.test('an attempt calls a limited number of hosts', async (t) => {
  const call = (sent: SendResult): Pick<Exchange, 'sent'> => ({ sent })
  const dead = call(connectionLostAt('connect'))
  const limits = defaultAttemptLimits
  t.equal(mayTryAnother([dead, dead, dead, dead], 0, limits), true)
  t.equal(mayTryAnother([dead, dead, dead, dead, dead], 0, limits), false)
  t.equal(mayTryAnother([call(replyAt('rcpt', 451)), dead], 0, limits), true)
  t.equal(mayTryAnother([call(replyAt('rcpt', 451)), call(connectionLostAt('data'))], 0, limits), false)
  t.equal(mayTryAnother([dead], limits.time, limits), false)
})

t.test('the reply of a server is reported before a silent server', async (t) => {
  const spoke = { sent: replyAt('rcpt', 451) }
  const silent = { sent: connectionLostAt('connect') }
  const later = { sent: replyAt('banner', 421) }
  t.equal(pickMoreInformative(null, silent), silent)
  t.equal(pickMoreInformative(spoke, silent), spoke)
  t.equal(pickMoreInformative(silent, spoke), spoke)
  t.equal(pickMoreInformative(spoke, later), later)
})

/** An attempt at hosts that behave by the script. */
async function walk(script: readonly (SendResult | Outage)[]): Promise<AttemptResult & { readonly called: number }> {
  let called = 0
  const send = async (): Promise<Exchange | Outage> => {
    const sent = script[called++]
    if (sent === undefined) throw new Error('called too often')
    return sent.kind === 'outage' ? sent : { sent, tls: null, transcript: `call ${called}\n` }
  }
  const hosts = script.map((_, index) => hostAt({ port: 25 }, { mx: `mx${index + 1}.test` }))
  const result = await requireAttempt(
    attemptDelivery(message, { kind: 'hosts', hosts }, { ...commonDeps, send }, never),
  )
  return { ...result, called }
}

t.test('the hosts are called in their order', async (t) => {
  const later = replyAt('rcpt', 451)
  const dead = connectionLostAt('connect')
  t.match(await walk([dead, dead, ok]), {
    called: 3,
    outcome: { kind: 'accepted' },
    peer: { mx: 'mx3.test' },
    transcript: 'call 1\n\ncall 2\n\ncall 3\n',
  })
  t.match(await walk([later, later, ok]), { called: 2, outcome: { kind: 'deferred' }, peer: { mx: 'mx2.test' } })
  t.match(await walk([later, dead]), {
    called: 2,
    outcome: { kind: 'deferred', reached: true, response: '451 so it is' },
    peer: { mx: 'mx1.test' },
  })
  t.match(await walk([dead, replyAt('rcpt', 550), ok]), {
    called: 2,
    outcome: { kind: 'refused' },
    peer: { mx: 'mx2.test' },
  })
  t.match(await walk([replyAt('banner', 554), replyAt('banner', 554)]), {
    called: 2,
    outcome: { kind: 'deferred', reached: true },
  })
  t.match(await walk([connectionLostAt('ehlo'), dead]), {
    outcome: { kind: 'deferred', reached: true },
    peer: { mx: 'mx2.test' },
  })
  t.match(await walk([dead, dead]), { outcome: { kind: 'deferred', reached: false } })
  t.match(await walk(Array(7).fill(dead)), { called: 5 })
  t.match(await walk([connectionLostAt('message'), ok]), { called: 1, outcome: { kind: 'deferred' } })
  t.match(await walk([...Array(9).fill(down), dead, down, ok]), { called: 12, outcome: { kind: 'accepted' } })
  t.match(await walk([dead, down]), { called: 2, outcome: { kind: 'deferred' }, peer: { mx: 'mx1.test' } })
})

t.test('where all hosts are remembered as unreachable there was no attempt', async (t) => {
  const hosts = [30_000, 20_000, 40_000].map((until) => ({ ...hostAt({ port: 25 }), until }))
  const send: AttemptDeps['send'] = async (host) => ({ ...down, until: hosts.find((it) => it === host)?.until ?? 0 })
  t.same(await attemptDelivery(message, { kind: 'hosts', hosts }, { ...commonDeps, send }, never), {
    ...down,
    until: 20_000,
  })
})

t.test('waiting for a slot takes nothing off the time of an attempt', async (t) => {
  let now = 0
  const silent: Exchange = { sent: connectionLostAt('connect'), tls: null, transcript: '' }
  const acquireSlot: AttemptDeps['acquireSlot'] = async () => {
    now += 400_000
    return () => undefined
  }
  let calls = 0
  const send: AttemptDeps['send'] = async () => {
    calls += 1
    now += 10_000
    return silent
  }
  const hosts = [1, 2, 3].map((port) => hostAt({ port }))
  const deps = { ...commonDeps, acquireSlot, clock: () => now, send }
  t.match(await attemptDelivery(message, { kind: 'hosts', hosts }, deps, never), { begunAt: 400_000 })
  t.equal(calls, 3, 'a wait of half an hour has not ended the walk')
})

t.test('each call holds a slot of the host that is dialled, and of no other', async (t) => {
  const held: string[] = []
  const log: string[] = []
  const acquireSlot: AttemptDeps['acquireSlot'] = async (host) => {
    log.push(`${host}: acquired, held ${held.length}`)
    held.push(host)
    return () => void held.splice(held.indexOf(host), 1)
  }
  const failures = [connectionLostAt('connect'), down, new TypeError('a bug')]
  const send: AttemptDeps['send'] = async ({ mx }) => {
    log.push(`${mx}: sent, held ${held}`)
    const next = failures.shift()
    if (next instanceof Error) throw next
    return next?.kind === 'outage' ? next : { sent: next ?? ok, tls: null, transcript: '' }
  }
  const hosts = ['one', 'two', 'three'].map((mx) => hostAt({ port: 25 }, { mx }))
  await t.rejects(
    attemptDelivery(message, { kind: 'hosts', hosts }, { ...commonDeps, acquireSlot, send }, never),
    /a bug/,
  )
  t.same(log, [
    'one: acquired, held 0',
    'one: sent, held one',
    'two: acquired, held 0',
    'two: sent, held two',
    'three: acquired, held 0',
    'three: sent, held three',
  ])
  t.same(held, [])
})

t.test('a fallback host is shared like any other: the message of another workspace finds a slot', async (t) => {
  const concurrency = new HostConcurrency(() => ({ perHost: 2 }))
  const sink = await sinkFor(t, { script: { message: ({ connection }) => (connection === 0 ? held : '250 ok') } })
  let take: (answer: SinkAnswer) => void = () => undefined
  const held = new Promise<SinkAnswer>((resolve) => {
    take = resolve
  })
  const dead = await openSink()
  const { port } = dead
  await dead.close()
  const pool = poolOf()
  t.teardown(() => pool.close())
  const order: string[] = []
  const attempt = async (workspaceId: string): Promise<void> => {
    const acquireSlot: AttemptDeps['acquireSlot'] = (host, signal) =>
      concurrency.acquireSlot(host, { ownerId: workspaceId, isBulk: false }, signal)
    const hosts = [hostAt({ port }, { mx: 'dead.test' }), hostAt(sink, { mx: 'fallback.test' })]
    const deps = { ...commonDeps, acquireSlot, send: sendThrough(pool) }
    t.match(await attemptDelivery(message, { kind: 'hosts', hosts }, deps, never), { outcome: { kind: 'accepted' } })
    order.push(workspaceId)
  }
  const first = attempt('big')
  await sink.waitUntil(() => sink.commands.includes('DATA'))
  const second = attempt('big')
  await attempt('small')
  t.same(order, ['small'])
  take('250 taken')
  await Promise.all([first, second])
  t.equal(sink.mostOpen, 2)
})

t.test('a destination without hosts is an answer of its own', async (t) => {
  const deps = { ...commonDeps, send: () => Promise.reject(new Error('called')) }
  const refused: Destination = {
    kind: 'refused',
    reason: 'null-mx',
    status: '5.1.10',
    response: 'no mail',
    recipientsFault: true,
  }
  const { kind, ...rest } = refused
  t.same(await attemptDelivery(message, refused, deps, never), {
    outcome: { kind, ...rest },
    peer: null,
    transcript: '',
  })
  const temporary: Destination = { kind: 'temporary', reason: 'dns', response: 'SERVFAIL' }
  t.match(await attemptDelivery(message, temporary, deps, never), {
    outcome: { kind: 'deferred', reason: 'dns', reached: false },
    peer: null,
  })
})

t.test('many attempts at once keep to the slots of the host', async (t) => {
  const warnings: Error[] = []
  const warned = (warning: Error): void => void warnings.push(warning)
  process.on('warning', warned)
  t.teardown(() => process.off('warning', warned))
  const sink = await sinkFor(t)
  const pool = poolOf()
  t.teardown(() => pool.close())
  const concurrency = new HostConcurrency(() => ({ perHost: 10 }))
  const acquireSlot: AttemptDeps['acquireSlot'] = (host, until) =>
    concurrency.acquireSlot(host, { ownerId: 'owner', isBulk: false }, until)
  const deps = { ...commonDeps, acquireSlot, send: sendThrough(pool) }
  const { signal } = new AbortController()
  const one = () => requireAttempt(attemptDelivery(message, { kind: 'hosts', hosts: [hostAt(sink)] }, deps, signal))
  const results = await Promise.all(Array.from({ length: 100 }, one))
  t.ok(results.every(({ outcome }) => outcome.kind === 'accepted'))
  t.equal(sink.messages.length, 100)
  t.equal(sink.mostOpen, 9)
  t.same(warnings, [])
})

t.test('an attempt is cut off in the end, and ends at once when we stop', async (t) => {
  const sink = await sinkFor(t, { script: { message: 'hang' } })
  const pool = poolOf()
  t.teardown(() => pool.close())
  const deps = { ...commonDeps, send: sendThrough(pool), limits: { ...defaultAttemptLimits, cutOff: 300 } }
  const destination: Destination = { kind: 'hosts', hosts: [hostAt(sink)] }
  t.match(await attemptDelivery(message, destination, deps, never), {
    outcome: { kind: 'deferred', reason: 'timeout' },
  })
  const stopping = new AbortController()
  const stopped = attemptDelivery(message, destination, { ...deps, ...commonDeps }, stopping.signal)
  await sink.waitUntil(() => sink.commands.filter((line) => line === 'DATA').length === 2)
  const reason = new Error('stopping')
  stopping.abort(reason)
  await t.rejects(stopped, reason)
  await t.rejects(attemptDelivery(message, destination, deps, stopping.signal), reason)
})

t.test('attempts that begin together share a limit, and none is cut off early', async (t) => {
  const limiter = new CallLimiter(1_200)
  const limit = (signal: AbortSignal) => limiter.start(signal)
  const runner = new AbortController()
  const first = limit(runner.signal)
  t.equal(limit(runner.signal), first)
  t.not(limit(never), first, 'another runner is not followed')
  const again = limit(runner.signal)
  await waitUntil('no other call joins', () => limit(runner.signal) !== again)
  t.equal(again.signal.aborted, false, 'its time begins with the last call that joined')
  await waitUntil('its time is over', () => again.signal.aborted)
  const later = limit(runner.signal)
  const error = new Error('closed')
  t.match(again.timeoutOrRethrow(error), { sent: { failure: 'timeout', detail: 'cut off after 1.2 s' } })
  t.throws(() => later.timeoutOrRethrow(error), error, 'something else went wrong')
  runner.abort()
  t.equal(later.signal.aborted, true)
  t.throws(() => again.timeoutOrRethrow(error), error, 'the end of the process says nothing')
  t.equal(limit(runner.signal).signal.aborted, true)
})

t.test('a host that refuses IPv6 is called over IPv4, and no other host over IPv6', async (t) => {
  const over6 = ['2001:db8::1', '2001:db8::2'].map((address) => hostAt({ port: 25 }, { address }))
  const over4 = hostAt({ port: 25 }, { address: '192.0.2.1' })
  const called: string[] = []
  const send: AttemptDeps['send'] = async ({ address }) => {
    called.push(address)
    const sent: SendResult = address.includes(':')
      ? { kind: 'refused', stage: 'message', reply: { code: 550, enhanced: '5.7.1', text: 'IPv6 without PTR record' } }
      : { kind: 'accepted', reply: { code: 250, enhanced: '2.0.0', text: 'ok' }, dsnRelayed: false }
    return { sent, tls: null, transcript: '' }
  }
  const attempted = (hosts: readonly Host[]): Promise<AttemptResult> =>
    requireAttempt(attemptDelivery(message, { kind: 'hosts', hosts }, { ...commonDeps, send }, never))
  t.match(await attempted([...over6, over4]), { outcome: { kind: 'accepted' } })
  t.same(called, ['2001:db8::1', '192.0.2.1'])
  t.match(await attempted(over6), { outcome: { kind: 'deferred', status: '4.7.1' } }, 'it waits, and is not lost')
})
