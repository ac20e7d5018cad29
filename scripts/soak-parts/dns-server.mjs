// A DNS server for the names of the test, over UDP and TCP, that can be silent, slow or wrong.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { addressOfHost } from './names.mjs'

const TYPES = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28 }
const SLOW = 2_500
/** Seconds: short, so that a fault is felt at once. */
const TTL = 4

/** `mode` of the result: "ok", "silent", "slow", "failing" (SERVFAIL), "lying". */
export async function openDnsServer(random) {
  const state = { mode: 'ok', questions: 0, lies: 0 }
  const socket = createSocket('udp4')
  socket.on('error', () => undefined)
  socket.on('message', (query, from) => {
    const answer = (reply) => reply !== null && socket.send(reply, from.port, from.address, () => undefined)
    respond(query, state, random, answer)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  const server = createServer((stream) => serveStream(stream, state, random)).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    socket.close()
    server.close()
  }
  return { port, state, close }
}

function serveStream(stream, state, random) {
  let held = Buffer.alloc(0)
  stream.on('error', () => undefined)
  stream.setTimeout(10_000, () => stream.destroy())
  stream.on('data', (chunk) => {
    held = Buffer.concat([held, chunk])
    while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
      const length = held.readUInt16BE(0)
      const query = held.subarray(2, 2 + length)
      held = held.subarray(2 + length)
      respond(query, state, random, (reply) => {
        if (reply === null || stream.destroyed) return
        const head = Buffer.alloc(2)
        head.writeUInt16BE(reply.length)
        stream.write(Buffer.concat([head, reply]))
      })
    }
  })
}

function respond(query, state, random, answer) {
  if (query.length < 17) return
  state.questions += 1
  const { mode } = state
  if (mode === 'silent') return
  const question = readQuestion(query)
  if (mode === 'lying') {
    state.lies += 1
    answer(lie(query, question, random))
  } else if (mode === 'failing') answer(build(query, question, [], random() < 0.5 ? 2 : 5))
  else if (mode === 'slow') setTimeout(() => answer(truth(query, question)), SLOW)
  else answer(truth(query, question))
}

function readQuestion(query) {
  const labels = []
  let at = 12
  while (query[at] !== 0 && at < query.length) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]))
    at += query[at] + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function truth(query, question) {
  const records = recordsOf(question)
  return build(query, question, records ?? [], records === null ? 3 : 0)
}

/** Null: there is no such name. */
function recordsOf({ name, type }) {
  const domain = /^d\d+\.sink\.test$/.exec(name)?.[0]
  if (domain !== undefined) return type === TYPES.MX ? [mx(10, `mx1.${domain}`), mx(20, `mx2.${domain}`)] : []
  const address = addressOfHost(name)
  if (address !== null) return type === TYPES.A ? [a(address)] : []
  if (name === 'elsewhere.test') return type === TYPES.TXT ? [txt('v=spf1 ip4:127.0.0.0/8 -all')] : []
  if (name === 'soak.test') return type === TYPES.MX ? [mx(10, 'mx1.d6.sink.test')] : []
  if (name === '1.0.0.127.in-addr.arpa')
    return type === TYPES.PTR ? [{ type: TYPES.PTR, data: encodeName('mail.elsewhere.test') }] : []
  if (name === 'mail.elsewhere.test') return type === TYPES.A ? [a('127.0.0.1')] : []
  return null
}

const a = (address) => ({ type: TYPES.A, data: Buffer.from(address.split('.').map(Number)) })
const mx = (preference, host) => ({ type: TYPES.MX, data: Buffer.concat([Buffer.of(0, preference), encodeName(host)]) })
const txt = (text) => ({ type: TYPES.TXT, data: Buffer.concat([Buffer.of(text.length), Buffer.from(text)]) })

function encodeName(name) {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.of(0)])
}

/** `records`: { type, data, name }; without a name they belong to the question. */
function build(query, { end }, records, code, truncated = false) {
  const head = Buffer.from(query.subarray(0, end))
  head.writeUInt16BE(0x8180 | (truncated ? 0x0200 : 0) | code, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  head.writeUInt32BE(0, 8)
  const parts = records.flatMap(({ type, data, name }) => {
    const rest = Buffer.alloc(10)
    rest.writeUInt16BE(type, 0)
    rest.writeUInt16BE(1, 2)
    rest.writeUInt32BE(TTL, 4)
    rest.writeUInt16BE(data.length, 8)
    return [name === undefined ? Buffer.of(0xc0, 12) : encodeName(name), rest, data]
  })
  return Buffer.concat([head, ...parts])
}

/** One of the ways to answer wrongly. The last but one is the only one that lets mail bounce: the domain is said not to exist. */
function lie(query, question, random) {
  const honest = truth(query, question)
  const lies = [
    () => Buffer.from(Array.from({ length: 40 }, () => Math.floor(random() * 256))),
    () => withId(honest, random),
    () => honest.subarray(0, Math.max(12, Math.floor(honest.length / 2))),
    () => build(query, question, [], 0, true),
    () => build(query, question, [{ type: TYPES.CNAME, data: Buffer.of(0xc0, 12) }], 0),
    () =>
      build(
        query,
        question,
        [
          { type: TYPES.CNAME, data: encodeName('other.sink.test') },
          { type: TYPES.CNAME, data: Buffer.of(0xc0, 12), name: 'other.sink.test' },
        ],
        0,
      ),
    () => build(query, question, question.type === TYPES.MX ? [mx(10, 'inside.test')] : [a('10.0.0.1')], 0),
    () =>
      build(
        query,
        question,
        Array.from({ length: 60 }, () => a('127.0.0.1')),
        0,
      ),
    () => build(query, question, [{ type: question.type, data: Buffer.alloc(3, 0xff) }], 0),
    () => null,
    () => build(query, question, [], 3),
    () => honest,
  ]
  return lies[Math.floor(random() * lies.length)]()
}

function withId(message, random) {
  const wrong = Buffer.from(message)
  wrong.writeUInt16BE(Math.floor(random() * 65_536), 0)
  return wrong
}
