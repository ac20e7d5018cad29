/**
 * Acknowledged work is never lost: kills, stops and a disk that takes no writes. Backups: standby.test.ts.
 *
 * Each test has a daemon of its own on a copy of one prepared data folder. They run concurrently, because one of them
 * waits as long as a stopping daemon lets a message be finished.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { temporaryFolder } from '../helpers/database/database.js'
import { fileForm } from '../helpers/http/multipart.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { systemCalls, underStrace } from '../helpers/programs/strace.js'
import { openSink, type ScriptedSink, type SinkScript } from '../helpers/smtp/scripted-sink.js'
import { configure, createReadyInstallation, type Installation, runForJson, serve } from './support/program.js'
import { beginMessage, emailIdOf, openSession, submit } from './support/submit.js'

t.jobs = 3
const prepared = await createReadyInstallation(t, 1, '127.0.0.0/8')
// Makes the certificate and the service's own keys, once for all copies.
const preparing = await serve(t, prepared)
preparing.signal('SIGTERM')
await preparing.ended

interface Bench {
  readonly sink: ScriptedSink
  readonly at: Installation
}

async function bench(t: Test, script: SinkScript = {}): Promise<Bench> {
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  const folder = temporaryFolder(t)
  const at = { folder, dataDir: join(folder, 'data'), file: join(folder, 'posthorn.toml') }
  cpSync(prepared.dataDir, at.dataDir, { recursive: true })
  configure(at, sink.port, `[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${prepared.workspace}"`)
  return { sink, at }
}

function countDelivered({ messages }: ScriptedSink, to: string): number {
  return messages.filter(({ rcptTo }) => rcptTo[0]?.startsWith(`<${to}>`)).length
}

interface Listed {
  readonly email_id: string
  readonly recipient: string
  readonly attempts: number
  readonly status: string
  readonly next_attempt_at: string
}

async function queueOf(at: Installation): Promise<readonly Listed[]> {
  return (await runForJson(at, 'queue', 'list'))['data'] as readonly Listed[]
}

/** A folder for one test: tap writes into it. */
const beside = (skip: false | string = false): { buffered: true; skip: false | string } => ({ buffered: true, skip })

/** Hangs at the recipient hanging@, and after the message to unanswered@. */
function hangAtTwo(): { readonly script: SinkScript; readonly state: { isOpen: boolean; whole: number } } {
  const state = { isOpen: false, whole: 0 }
  let unanswered: number | null = null
  const script: SinkScript = {
    rcpt: ({ line, connection }) => {
      if (line.includes('<unanswered@')) unanswered = connection
      return !state.isOpen && line.includes('<hanging@') ? 'hang' : '250 2.1.5 ok'
    },
    message: ({ connection }) => {
      if (state.isOpen || connection !== unanswered) return '250 2.0.0 taken'
      state.whole += 1
      return 'hang'
    },
  }
  return { script, state }
}

t.test('SIGTERM during attempts and submissions loses nothing and repeats nothing at once', beside(), async (t) => {
  const { script, state } = hangAtTwo()
  const { sink, at } = await bench(t, script)
  const daemon = await serve(t, at, { patience: { listeners: 10_000, delivery: 300 } })
  const [finishing, stuck, idle] = await Promise.all([1, 2, 3].map(() => openSession(daemon.port)))
  if (finishing === undefined || stuck === undefined || idle === undefined) throw new Error('three sessions')
  for (const to of ['hanging@sink.test', 'unanswered@sink.test']) emailIdOf(await submit(idle, to))
  await sink.waitUntil(() => state.whole === 1 && sink.commands.some((line) => line.startsWith('RCPT TO:<hanging@')))
  for (const [session, to] of [
    [finishing, 'finishing@sink.test'],
    [stuck, 'stuck@sink.test'],
  ] as const) {
    await beginMessage(session, to)
    await session.send('From: app@sender.test\r\nSubject: half\r\n\r\nthe first half\r\n')
  }
  daemon.signal('SIGTERM')
  t.match(await idle.readReply(), /^421 4\.3\.2 /)
  emailIdOf(await finishing.sendCommand('the second half\r\n.'))
  t.match(await finishing.readReply(), /^421 4\.3\.2 /)
  t.match(await stuck.readReply(), /^421 4\.3\.2 /)
  t.equal(await daemon.ended, 0)
  t.equal(daemon.log.at(-1)?.['msg'], 'stopped')

  const queue = new Map((await queueOf(at)).map((entry) => [entry.recipient, entry]))
  t.notOk(queue.has('stuck@sink.test'))
  const hanging = queue.get('hanging@sink.test')
  t.match(hanging, { attempts: 0 }, 'it is released uncounted')
  t.ok(Date.parse(hanging?.next_attempt_at ?? '') <= Date.now(), 'and due at once')
  const unanswered = queue.get('unanswered@sink.test')
  t.match(unanswered, { attempts: 1, status: 'deferred', last_response: /may arrive twice/ })
  t.ok(Date.parse(unanswered?.next_attempt_at ?? '') > Date.now() + 60_000)

  state.isOpen = true
  await serve(t, at)
  for (const to of ['hanging@sink.test', 'finishing@sink.test']) {
    await sink.waitUntil(() => countDelivered(sink, to) === 1)
  }
  const finished = sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith('<finishing@'))
  t.match(finished?.raw.toString(), /\r\n\r\nthe first half\r\nthe second half\r\n$/)
  t.equal(countDelivered(sink, 'stuck@sink.test'), 0)
})

t.test('SIGKILL right after the 202, repeatedly: an import stores every row, once', beside(), async (t) => {
  const { at } = await bench(t)
  const agent = new Agent({
    connect: { ca: readFileSync(join(at.dataDir, 'tls', 'cert.pem')), servername: 'localhost' },
  })
  t.teardown(() => agent.destroy())
  const ask = async (port: number, method: 'GET' | 'POST', path: string, sent: object = {}): Promise<unknown> => {
    const headers = { authorization: `Bearer ${prepared.key}`, ...('headers' in sent ? (sent.headers as object) : {}) }
    const answer = await request(`https://127.0.0.1:${port}/v1${path}`, { dispatcher: agent, method, ...sent, headers })
    return answer.body.json()
  }
  const rows = Array.from({ length: 6_000 }, (_, n) => `n${n}@b.test`)
  let daemon = await serve(t, at)
  const begun = await ask(daemon.apiPort, 'POST', '/suppressions/import', fileForm(['email', ...rows].join('\n')))
  const { import_id: id } = (begun as { readonly data: { readonly import_id: string } }).data
  type Now = Readonly<Record<'status', string>> & { readonly done: number }
  const places: number[] = []
  for (let kills = 0; kills < 2; kills += 1) {
    daemon.signal('SIGKILL')
    t.equal(await daemon.ended, 'SIGKILL')
    daemon = await serve(t, at)
    places.push(((await ask(daemon.apiPort, 'GET', `/imports/${id}`)) as Now).done)
  }
  t.same(
    places,
    places.toSorted((one, other) => one - other),
    'nothing that was through is lost',
  )
  for (;;) {
    const now = (await ask(daemon.apiPort, 'GET', `/imports/${id}`)) as Now
    if (now.status === 'processing') continue
    t.match(now, { status: 'completed', rows: 6_000, done: 6_000, report: { added: 6_000, known: 0, refused: 0 } })
    break
  }
  t.strictSame(await runForJson(at, 'verify-data'), { ok: true, problems: [] })
})

t.test('SIGKILL right after the 250: every acknowledged message is delivered', beside(), async (t) => {
  let holding = true
  const { sink, at } = await bench(t, { message: () => (holding ? 'hang' : '250 2.0.0 taken') })
  const acknowledged = new Set<string>()
  let daemon = await serve(t, at)
  for (let round = 1; round <= 2; round += 1) {
    const numbers = Array.from({ length: 13 }, (_, number) => `${round}-${number}@sink.test`)
    holding = true
    const { port, signal, ended } = daemon
    const client = async (which: number): Promise<void> => {
      const session = await openSession(port)
      for (const to of numbers.filter((_, number) => number % 3 === which)) {
        emailIdOf(await submit(session, to))
        acknowledged.add(to)
        if (acknowledged.size === 13 * round) signal('SIGKILL')
      }
    }
    await Promise.all([0, 1, 2].map(client))
    t.equal(await ended, 'SIGKILL')
    t.equal(sink.messages.length, 13 * (round - 1), 'none of this round was delivered')
    holding = false
    daemon = await serve(t, at)
    await sink.waitUntil(() => [...acknowledged].every((to) => countDelivered(sink, to) > 0))
  }
  t.equal(acknowledged.size, 26)
  t.strictSame(await runForJson(at, 'verify-data'), { ok: true, problems: [] })
})

const strace = spawnSync('strace', ['-f', '--seccomp-bpf', '-e', 'trace=write', 'true']).status === 0
const traced = beside(strace ? false : 'strace is not here, or may not trace')

t.test('the write-ahead log is synced after DATA has arrived and before the 250 is sent', traced, async (t) => {
  const { sink, at } = await bench(t)
  const trace = join(at.folder, 'trace')
  const daemon = await serve(t, at, { under: underStrace(trace) })
  const session = await openSession(daemon.port)
  const marks = Array.from({ length: 10 }, (_, number) => `mark-${number}@sink.test`)
  const ids: string[] = []
  for (const mark of marks) ids.push(emailIdOf(await submit(session, mark)))
  await sink.waitUntil(() => sink.messages.length === marks.length)
  session.end()
  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)

  const calls = systemCalls(readFileSync(trace, 'utf8'))
  for (const [place, mark] of marks.entries()) {
    const came = calls.find(
      ({ text }) => /^read\(\d+<(TCP|socket)/.test(text) && text.includes(`Subject: ${mark}\\r\\n`),
    )
    const written = calls.find(({ text }) => /^pwrite64\(\d+<[^>]*-wal>/.test(text) && text.includes(mark))
    const said = calls.find(
      ({ text }) => /^writev?\(/.test(text) && text.includes(`250 2.0.0 Ok: queued as ${ids[place]}`),
    )
    if (came === undefined || written === undefined || said === undefined)
      throw new Error(`${mark} is not in the trace`)
    t.match(came.text, /some text\\r\\n\.\\r\\n"/, 'all of it was read at once')
    const synced = calls.some(
      ({ text, begun, ended, result }) =>
        /^f(data)?sync\(\d+<[^>]*-wal>/.test(text) && begun > written.ended && ended < said.begun && result === '0',
    )
    t.ok(came.ended < written.begun && synced, `${mark}: read, written, synced, answered`)
  }
})

const limited = beside(skipWithout('prlimit'))

t.test('while the disk takes no writes, submissions are deferred and outcomes are kept', limited, async (t) => {
  let take: (answer: string) => void = () => undefined
  const answer = new Promise<string>((resolve) => {
    take = resolve
  })
  const { sink, at } = await bench(t, { message: ({ connection }) => (connection === 0 ? answer : '250 2.0.0 taken') })
  const daemon = await serve(t, at)
  const session = await openSession(daemon.port)
  emailIdOf(await submit(session, 'first@sink.test'))
  await sink.waitUntil(() => sink.commands.includes('DATA'))

  const limit = (soft: string): unknown => spawnSync('prlimit', ['--pid', `${daemon.pid}`, `--fsize=${soft}:`])
  limit('0')
  t.equal(await submit(session, 'second@sink.test'), '452 4.3.1 insufficient system storage, try again later')
  take('250 2.0.0 taken')
  await daemon.waitForLog(({ msg }) => msg === 'an outcome cannot be stored yet')
  limit('unlimited')
  await daemon.waitForLog(({ msg, recipient }) => msg === 'accepted' && recipient === 'first@sink.test')
  emailIdOf(await submit(session, 'second@sink.test'))
  await daemon.waitForLog(({ msg, recipient }) => msg === 'accepted' && recipient === 'second@sink.test')
  t.equal(countDelivered(sink, 'first@sink.test'), 1)
  t.equal(countDelivered(sink, 'second@sink.test'), 1)
  t.strictSame(await queueOf(at), [])
})

t.test('clients that do not speak SMTP do not disturb the daemon', beside(), async (t) => {
  const { sink, at } = await bench(t)
  const daemon = await serve(t, at, { patience: { listeners: 300, delivery: 5_000 } })
  t.match(await answerTo(daemon.port, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'), /^220 .*\r\n421 4\.7\.0 /)
  t.notMatch(await answerTo(daemon.tlsPort, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'), /SMTP/)
  // A handshake that stalls, one that is aborted, silence, and noise in the place of a handshake.
  const [hello, reset, silent, silentTls] = await Promise.all(
    [daemon.tlsPort, daemon.tlsPort, daemon.port, daemon.tlsPort].map((port) => openSocket(t, port)),
  )
  hello?.write(Buffer.from('160301020001000001fc0303', 'hex'))
  reset?.resetAndDestroy()
  const noisy = await openSession(daemon.port)
  t.match(await noisy.sendCommand('STARTTLS'), /^220 /)
  await noisy.send('this is no handshake\r\n')
  await noisy.waitForClose()

  emailIdOf(await submit(await openSession(daemon.port), 'still@sink.test'))
  await sink.waitUntil(() => countDelivered(sink, 'still@sink.test') === 1)
  t.strictSame(
    daemon.log.filter(({ level }) => Number(level) >= 40),
    [],
  )
  t.notOk(silent?.destroyed || silentTls?.destroyed || hello?.destroyed, 'they are still there')
  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0, 'and do not keep it from ending')
})

async function openSocket(t: Test, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Everything received until the other side closes. */
async function answerTo(port: number, said: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  socket.on('error', () => undefined)
  socket.write(said)
  await new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return text
}
