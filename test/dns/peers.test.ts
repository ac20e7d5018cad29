/** The zone listener over the network, as other people's programs see it: dig, drill, Unbound, Knot. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { parseConfig } from '../../src/config/load.js'
import { serveConnection } from '../../src/dns/tcp-connection.js'
import { startZoneListener, type ZoneListener } from '../../src/dns/zone-listener.js'
import { dkimKeysOf } from '../../src/domains/dkim/signing-keys.js'
import { domainsOfWorkspace } from '../../src/domains/sending-domains.js'
import { keyTargetOf } from '../../src/domains/verification/dns-records.js'
import { createServiceZone } from '../../src/domains/zone/zone.js'
import { toZoneSettings } from '../../src/domains/zone/zone-records.js'
import type { Database } from '../../src/storage/database.js'
import { dnsServers, networks } from '../helpers/config-values.js'
import { temporaryDatabase } from '../helpers/database.js'
import { skipWithout } from '../helpers/programs.js'
import { seedDatabase } from '../helpers/seed-data.js'
import { waitUntil } from '../helpers/wait-until.js'
import { freePort } from '../journeys/support/child-server.js'
import { startSecondary } from '../journeys/support/knot.js'
import { runProgram } from '../journeys/support/run-program.js'
import { startUnbound } from '../journeys/support/unbound.js'

const ZONE = 'mail.service.test'

interface Opened {
  readonly database: Database
  readonly listener: ZoneListener
  readonly port: number
  readonly errors: readonly unknown[]
  readonly serial: () => number
  /** Where a key of a.test lies, and its text. */
  readonly key: { readonly name: string; readonly text: string }
}

async function openZoneServer(t: Test, notify: readonly string[] = [], host = '127.0.0.1'): Promise<Opened> {
  const { database } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  const text = `[service]\npublic_addresses = ["192.0.2.1", "2001:db8::1"]\n[dns]\nnameservers = ["ns.${ZONE}"]\n`
  const loaded = parseConfig(text, null, { hostname: ZONE, home: '/', isRoot: true, stateHome: undefined })
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  const zone = createServiceZone(database, toZoneSettings(loaded.config))
  const errors: unknown[] = []
  const log = { error: (found: unknown) => void errors.push(found), warn: () => undefined }
  const listen = [{ host, port: 0 }]
  const deps = {
    zone,
    listen,
    secondaries: networks('127.0.0.2', '127.0.0.1'),
    notify: dnsServers(...notify),
    clock: () => 0,
    log,
  }
  const listener = await startZoneListener(deps)
  t.teardown(() => listener.stop(0))
  const [row] = domainsOfWorkspace(database.read, { workspaceId })
  const [key] = dkimKeysOf(database.read, { workspaceId, domain: row?.domain ?? '' })
  const name = keyTargetOf(row ?? { id: '' }, key?.selector ?? '', ZONE)
  const port = listener.endpoints[0]?.port ?? 0
  return { database, listener, port, errors, serial: zone.readSerial, key: { name, text: key?.public_record ?? '' } }
}

async function dig(port: number, ...words: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runProgram(['dig', '@127.0.0.1', '-p', `${port}`, '+tries=1', ...words])
  if (status !== 0) throw new Error(`dig: ${stdout}${stderr}`)
  return stdout
}

t.test('dig', { skip: skipWithout('dig') }, async (t) => {
  const { port, key, errors, serial } = await openZoneServer(t)
  const told = (name: string, type: string, ...more: string[]): Promise<string> =>
    dig(port, '+norecurse', ...more, name, type)

  const whole = await told(key.name, 'TXT')
  t.match(whole, /status: NOERROR.*\n;; flags: qr aa; QUERY: 1, ANSWER: 1/)
  t.equal(/ TXT (".*)/.exec(whole.replaceAll('\t', ' '))?.[1]?.replaceAll(/" "|"/g, ''), key.text)
  t.match(await told(key.name, 'TXT', '+noedns', '+ignore'), /flags: qr aa; QUERY: 1, ANSWER: 1/, 'in 512 octets')
  t.match(await told(key.name, 'TXT', '+tcp'), /status: NOERROR/)
  t.match(await told(ZONE, 'SOA', '+short'), `ns.${ZONE}. postmaster.${ZONE}. ${serial()} 900 300 1209600 300\n`)
  t.match(await told(ZONE, 'MX', '+short'), `10 mx.${ZONE}.\n`)
  t.match(await told(`mail.${ZONE}`, 'AAAA', '+short'), '2001:db8::1\n')
  t.match(await told(`nothing.${ZONE}`, 'A'), /status: NXDOMAIN[\s\S]*AUTHORITY SECTION:\n.*\t300\tIN\tSOA/)
  t.match(await told(`_domainkey.${ZONE}`, 'A'), /status: NOERROR[\s\S]*AUTHORITY: 1[\s\S]*\tSOA/)
  t.match(await told('example.com', 'A'), /status: REFUSED/)
  t.match(await told(ZONE, 'A', '+edns=1', '+noednsneg'), /status: BADVERS/)
  t.match(await dig(port, ZONE, 'A'), /recursion requested but not available/)
  t.notMatch(await told(ZONE, 'A'), /WARNING|malformed/i)
  const transferred = await dig(port, ZONE, 'AXFR', '+onesoa')
  t.match(transferred, new RegExp(`^${key.name.replaceAll('.', '\\.')}\\.\\s`, 'm'))
  t.match(transferred, /XFR size: \d+ records/)
  t.match(await dig(port, `mx.${ZONE}`, 'AXFR'), /Transfer failed/, 'not a zone')
  t.same(errors, [])
})

t.test('drill', { skip: skipWithout('drill') }, async (t) => {
  const { port, key } = await openZoneServer(t)
  const drill = async (...words: string[]): Promise<string> =>
    (await runProgram(['drill', '-p', `${port}`, ...words, '@127.0.0.1'])).stdout
  const [first = ''] = key.text.match(/.{255}/) ?? []
  t.match(await drill(key.name, 'TXT'), `"${first}" "${key.text.slice(255)}"`)
  t.match(await drill('-t', ZONE, 'NS'), `ns.${ZONE}.\t3600\tIN\tA\t192.0.2.1`, 'over TCP, with its address')
})

t.test('Unbound believes it, and mixed letters come back', { skip: skipWithout('unbound') }, async (t) => {
  const { port, key } = await openZoneServer(t)
  const unbound = await startUnbound(t, { zones: { [ZONE]: port } })
  t.equal((await dig(unbound.port, key.name, 'TXT', '+short')).replaceAll(/" "|"/g, ''), `${key.text}\n`)
  t.match(await dig(unbound.port, `posthorn.${ZONE}`, 'A'), /status: NXDOMAIN/)
  t.match(await dig(unbound.port, `mail.${ZONE}`, 'MX', '+short'), `10 mx.${ZONE}.`)
})

t.test('Knot copies the zone, and again when it is told of a change', { skip: skipWithout('knotd') }, async (t) => {
  const knotPort = await freePort()
  const { database, port, serial, key } = await openZoneServer(t, [`127.0.0.1:${knotPort}`])
  const knot = await startSecondary(t, knotPort, ZONE, port)
  await knot.waitForSerial(serial())
  const at = (name: string): Promise<string> => dig(knot.port, name, 'TXT', '+short')
  t.equal((await at(key.name)).replaceAll(/" "|"/g, ''), `${key.text}\n`)
  await database.commit([{ sql: `update dkim_keys set public_record = 'v=DKIM1; p='`, parameters: [] }])
  await knot.waitForSerial(serial())
  t.equal(await at(key.name), '"v=DKIM1; p="\n')
})

/** What matters of an answer of dig: code and flags, and its records in the order of their text. */
function gist(answer: string): readonly string[] {
  const [, code = ''] = /status: (\w+)/.exec(answer) ?? []
  const [, flags = ''] = /;; flags: ([\w ]*);/.exec(answer) ?? []
  const sections = answer.split('\n;; ').slice(1)
  const told = sections.filter((section) => /^(ANSWER|AUTHORITY) SECTION/.test(section))
  return [code, flags, ...told.map((section) => section.trim().replaceAll(/\s+/g, ' '))]
}

t.test('it answers as its copy at Knot does', { skip: skipWithout('knotd') || skipWithout('dig') }, async (t) => {
  const knotPort = await freePort()
  const { port, serial, key } = await openZoneServer(t, [`127.0.0.1:${knotPort}`])
  const knot = await startSecondary(t, knotPort, ZONE, port)
  await knot.waitForSerial(serial())
  const label = key.name.slice('dkim1.'.length)
  const questions = [
    ...['SOA', 'NS', 'A', 'AAAA', 'MX', 'TXT', 'CAA', 'DS', 'SRV'].map((type) => [ZONE, type]),
    ...[key.name, label, `x.${label}`, `_domainkey.${ZONE}`, `_dmarc.${ZONE}`].map((name) => [name, 'TXT']),
    ...[`mail.${ZONE}`, `MX.${ZONE}`, `nothing.${ZONE}`, `x.mx.${ZONE}`, `_tcp.${ZONE}`, 'elsewhere.test'].map(
      (name) => [name, 'A'],
    ),
    [ZONE, 'A', '-c', 'CH'],
  ]
  for (const [name = '', type = '', ...more] of questions) {
    const ask = (at: number): Promise<string> =>
      dig(at, '+norecurse', '+noedns', '+noall', '+comments', '+answer', '+authority', ...more, name, type)
    t.same(gist(await ask(port)), gist(await ask(knot.port)), `${name} ${type} ${more}`)
  }
})

t.test('it listens on addresses of IPv6', { skip: skipWithout('dig') }, async (t) => {
  const { listener } = await openZoneServer(t, [], '::1')
  const [endpoint] = listener.endpoints
  t.equal(endpoint?.host, '::1')
  const words = ['dig', '@::1', '-p', `${endpoint?.port}`, '+short', '+norecurse']
  for (const way of ['+notcp', '+tcp']) {
    t.equal((await runProgram([...words, way, `mx.${ZONE}`, 'A'])).stdout, '192.0.2.1\n', way)
  }
})

/** One connection, and the replies that came over it. */
async function dialTcp(t: Test, port: number): Promise<{ socket: Socket; replies: () => readonly Buffer[] }> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  let got = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    got = Buffer.concat([got, chunk])
  })
  const replies = (): readonly Buffer[] => {
    const all: Buffer[] = []
    for (let at = 0; at + 2 <= got.length && at + 2 + got.readUInt16BE(at) <= got.length; ) {
      all.push(got.subarray(at + 2, at + 2 + got.readUInt16BE(at)))
      at += 2 + got.readUInt16BE(at)
    }
    return all
  }
  return { socket, replies }
}

/** Framed, for the addresses of `mx`. */
function question(id: number): Buffer {
  const name = `\x02mx${ZONE.split('.')
    .map((label) => String.fromCharCode(label.length) + label)
    .join('')}\0`
  const message = Buffer.concat([
    Buffer.of(id >> 8, id & 255, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0),
    Buffer.from(`${name}\0\x01\0\x01`, 'latin1'),
  ])
  return Buffer.concat([Buffer.of(message.length >> 8, message.length & 255), message])
}

const idsOf = (replies: readonly Buffer[]): number[] => replies.map((reply) => reply.readUInt16BE(0))

t.test('questions in one connection are answered in their order, however they come in', async (t) => {
  const { port } = await openZoneServer(t)
  const { socket, replies } = await dialTcp(t, port)
  const ids = Array.from({ length: 50 }, (_, id) => id)
  const all = Buffer.concat(ids.map(question))
  for (let at = 0; at < all.length; at += 7) socket.write(all.subarray(at, at + 7))
  socket.end()
  await once(socket, 'close')
  t.same(idsOf(replies()), ids, 'the last ones after the client has said all')
})

t.test('a connection that says nothing of use ends', async (t) => {
  const { port } = await openZoneServer(t)
  for (const bytes of [Buffer.of(0xff, 0xff, 1, 2), Buffer.of(0, 0), Buffer.of(0, 1, 1), Buffer.alloc(14, 0xff)]) {
    const { socket, replies } = await dialTcp(t, port)
    socket.write(bytes)
    await once(socket, 'close')
    t.same(replies(), [])
  }
})

t.test('one address has twenty connections, and its places again when they have ended', async (t) => {
  const { port } = await openZoneServer(t)
  const held = await Promise.all(Array.from({ length: 20 }, () => dialTcp(t, port)))
  const one = await dialTcp(t, port)
  await once(one.socket, 'close')
  held[0]?.socket.destroy()
  await waitUntil('there is a place', async () => {
    const { socket, replies } = await dialTcp(t, port)
    socket.write(question(1))
    await Promise.race([once(socket, 'data'), once(socket, 'close')])
    return replies().length === 1
  })
})

t.test('connections that ask nothing, from whole networks, keep no question out', async (t) => {
  const { port } = await openZoneServer(t)
  const flood = Array.from({ length: 500 }, (_, at) => {
    const localAddress = `127.3.${at % 5}.${1 + Math.floor(at / 100)}`
    return connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined)
  })
  t.teardown(() => {
    for (const socket of flood) socket.destroy()
  })
  await waitUntil('all are connected', () => flood.every((socket) => !socket.connecting))
  for (let times = 0; times < 3; times++) {
    const { socket, replies } = await dialTcp(t, port)
    socket.write(question(1))
    await Promise.race([once(socket, 'data'), once(socket, 'close')])
    t.equal(replies().length, 1)
  }
})

t.test('a fault of the listener is logged, and it goes on', async (t) => {
  const { port, errors } = await openZoneServer(t)
  // The system's faults cannot be called for: the server that has this port is told of one.
  const handles = Reflect.get(process, '_getActiveHandles') as () => readonly unknown[]
  const isOurs = (handle: unknown): handle is Server =>
    handle instanceof Server && (handle.address() as AddressInfo | null)?.port === port
  handles.call(process).find(isOurs)?.emit('error', new Error('accept ENFILE'))
  t.match(errors, [{ err: { message: 'accept ENFILE' } }])
  const { socket, replies } = await dialTcp(t, port)
  socket.write(question(1))
  await once(socket, 'data')
  t.equal(replies().length, 1)
})

t.test('a long transfer to a slow client leaves nothing behind at each wait', async (t) => {
  const [count, size] = [500, 60_000]
  let [most, waits, got] = [0, 0, 0]
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('drain', () => (waits += 1))
    const respondOverTcp = function* (): Generator<Buffer> {
      for (let left = count; left > 0; left -= 1) {
        most = Math.max(most, socket.listenerCount('close'))
        yield Buffer.alloc(size)
      }
    }
    serveConnection(socket, '127.0.0.1', { respondOverUdp: () => null, respondOverTcp })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('data', ({ length }: Buffer) => {
    got += length
    socket.pause()
    // Some turns later, in each of which the server would send more.
    setImmediate(() => setImmediate(() => setImmediate(() => socket.resume())))
  })
  socket.end(question(1))
  await once(socket, 'close')
  t.equal(got, count * (2 + size))
  t.ok(waits > 5, `${waits} waits`)
  t.ok(most < 5, `${most} listeners`)
})

t.test('stopping answers what was asked, and then nobody is there', async (t) => {
  const { port, listener } = await openZoneServer(t)
  const { socket } = await dialTcp(t, port)
  socket.write(question(1))
  await once(socket, 'data')
  await listener.stop(1000)
  if (!socket.closed) await once(socket, 'close')
  await t.rejects(dialTcp(t, port), { code: 'ECONNREFUSED' })
})

t.test('a place that is taken leaves nothing open', async (t) => {
  const { port, listener } = await openZoneServer(t)
  const log = { error: () => undefined, warn: () => undefined }
  const zone = createServiceZone({ read: () => [] }, {} as never)
  const listen = [
    { host: '127.0.0.1', port: 0 },
    { host: '127.0.0.1', port },
  ]
  const deps = { zone, listen, secondaries: [], notify: [], clock: () => 0, log }
  await t.rejects(startZoneListener(deps), { code: 'EADDRINUSE' })
  t.equal(listener.endpoints.length, 1)
})
