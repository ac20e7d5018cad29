/**
 * A DNS server on loopback, over UDP and TCP, that answers from a function: for tests of the real resolver. Just
 * enough of RFC 1035 for one question and plain records. A reply that is too long for UDP is truncated to the EDNS
 * size of the query.
 */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { freePort } from '../free-port.js'

/** `name`: its owner, where that is not the name of the question. */
export type DnsRecord = { readonly ttl: number; readonly name?: string } & (
  | { readonly type: 'A' | 'AAAA' | 'CNAME' | 'NS' | 'PTR'; readonly value: string }
  | { readonly type: 'MX'; readonly preference: number; readonly value: string }
  | { readonly type: 'TXT'; readonly strings: readonly string[] }
)

type Failure = 'FORMERR' | 'SERVFAIL' | 'NXDOMAIN' | 'REFUSED'

/** An answer with what stands around the records. */
interface DnsReply {
  readonly answers?: readonly DnsRecord[]
  readonly code?: Failure
  /** The SOA record of the zone, in the authority section. */
  readonly soa?: { readonly ttl: number; readonly minimum: number }
  /** A referral: not authoritative, without recursion, with the servers of the zone alone. */
  readonly referral?: true
}

export type DnsAnswer =
  | readonly DnsRecord[]
  | DnsReply
  | Failure
  /** No answer at all. */
  | 'silence'

/** `question` as `MX b.test`. */
export type DnsZone = (question: string) => DnsAnswer

export interface DnsServer {
  readonly address: string
  /** All questions so far. */
  readonly queries: readonly string[]
  readonly askedOverTcp: readonly string[]
  readonly close: () => void
}

export interface DnsServerOptions {
  /** Sent instead of `reply`; `from` is null over TCP. */
  readonly send?: (reply: Buffer, query: Buffer, from: RemoteInfo | null) => readonly Buffer[]
  /** Over TCP the connection is closed after so many octets. */
  readonly cutTcp?: number
}

const codes = { A: 1, NS: 2, CNAME: 5, PTR: 12, MX: 15, TXT: 16, AAAA: 28 } as const
const failures = { FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const

export async function dnsServer(zone: DnsZone, options: DnsServerOptions = {}): Promise<DnsServer> {
  const { send = (reply) => [reply], cutTcp } = options
  const queries: string[] = []
  const askedOverTcp: string[] = []
  const sockets = new Set<Socket>()
  // A port of the ephemeral range may be that of another test's UDP socket.
  const port = await freePort()
  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (framed) => {
      const query = framed.subarray(2)
      askedOverTcp.push(parseQuery(query).question)
      const reply = replyTo(query, zone)
      if (reply === null) return
      const all = Buffer.concat(send(reply, query, null).map(framedBySize))
      if (cutTcp === undefined) socket.write(all)
      else socket.end(all.subarray(0, cutTcp))
    })
  }).listen(port, '127.0.0.1')
  await once(tcp, 'listening')
  const udp = createSocket('udp4')
  udp.on('message', (query, from) => {
    queries.push(parseQuery(query).question)
    const reply = replyTo(query, zone)
    if (reply === null) return
    for (const message of send(truncateTo(payloadOf(query), reply, query), query, from)) {
      udp.send(message, from.port, from.address)
    }
  })
  udp.bind(port, '127.0.0.1')
  await once(udp, 'listening')
  const close = (): void => {
    udp.close()
    tcp.close()
    for (const socket of sockets) socket.destroy()
  }
  return { address: `127.0.0.1:${port}`, queries, askedOverTcp, close }
}

function framedBySize(message: Buffer): Buffer {
  return Buffer.concat([Buffer.of(message.length >> 8, message.length & 255), message])
}

function replyTo(query: Buffer, zone: DnsZone): Buffer | null {
  const { question, name, end } = parseQuery(query)
  const answer = zone(question)
  return answer === 'silence' ? null : buildResponse(query.subarray(0, end), name, replyOf(answer))
}

function replyOf(answer: Exclude<DnsAnswer, 'silence'>): DnsReply {
  if (typeof answer === 'string') return { code: answer }
  return isList(answer) ? { answers: answer } : answer
}

function isList(answer: readonly DnsRecord[] | DnsReply): answer is readonly DnsRecord[] {
  return Array.isArray(answer)
}

/** RFC 6891: the class of the OPT record, which stands alone behind the question. */
function payloadOf(query: Buffer): number {
  return query.readUInt16BE(10) === 0 ? 512 : query.readUInt16BE(parseQuery(query).end + 3)
}

function truncateTo(size: number, reply: Buffer, query: Buffer): Buffer {
  if (reply.length <= size) return reply
  const head = Buffer.from(reply.subarray(0, parseQuery(query).end))
  head.writeUInt8(head.readUInt8(2) | 2, 2)
  head.fill(0, 6, 12)
  return head
}

function parseQuery(query: Buffer): { readonly question: string; readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let size = query.readUInt8(at); size > 0; size = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size))
    at += size + 1
  }
  const code = query.readUInt16BE(at + 1)
  const type = Object.entries(codes).find(([, number]) => number === code)?.[0] ?? String(code)
  const name = labels.join('.').toLowerCase()
  return { question: `${type} ${name}`, name, end: at + 5 }
}

function buildResponse(question: Buffer, name: string, { answers = [], code, soa, referral }: DnsReply): Buffer {
  const header = Buffer.from(question)
  header.writeUInt16BE((referral ? 0x8100 : 0x8580) | (code === undefined ? 0 : failures[code]), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(answers.length, 6)
  header.writeUInt16BE(soa === undefined && !referral ? 0 : 1, 8)
  header.writeUInt16BE(0, 10)
  const records = answers.map((record) => encodeRecord(record, name))
  return Buffer.concat([
    header,
    ...records,
    ...encodeAuthority(soa),
    ...(referral ? [ofZone(2, 60, encodeName('ns.test'))] : []),
  ])
}

function encodeAuthority(soa: DnsReply['soa']): readonly Buffer[] {
  if (soa === undefined) return []
  const numbers = Buffer.alloc(20)
  numbers.writeUInt32BE(soa.minimum, 16)
  return [ofZone(6, soa.ttl, Buffer.concat([encodeName('ns.test'), encodeName('root.test'), numbers]))]
}

function ofZone(type: number, ttl: number, content: Buffer): Buffer {
  return Buffer.concat([encodeName('test'), recordHead(type, ttl, content.length), content])
}

function recordHead(type: number, ttl: number, size: number): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt32BE(ttl, 4)
  head.writeUInt16BE(size, 8)
  return head
}

function encodeRecord(record: DnsRecord, name: string): Buffer {
  const content = contentOf(record)
  return Buffer.concat([
    encodeName(record.name ?? name),
    recordHead(codes[record.type], record.ttl, content.length),
    content,
  ])
}

function contentOf(record: DnsRecord): Buffer {
  switch (record.type) {
    case 'A':
      return Buffer.from(record.value.split('.').map(Number))
    case 'AAAA':
      return Buffer.from(
        record.value.split(':').flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]),
      )
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return encodeName(record.value)
    case 'MX':
      return Buffer.concat([Buffer.from([record.preference >> 8, record.preference & 255]), encodeName(record.value)])
    case 'TXT':
      return Buffer.from(record.strings.map((text) => `${String.fromCharCode(text.length)}${text}`).join(''), 'latin1')
  }
}

function encodeName(name: string): Buffer {
  const parts = name.split('.').filter((part) => part !== '')
  return Buffer.concat([
    ...parts.map((part) => Buffer.from(`${String.fromCharCode(part.length)}${part}`, 'latin1')),
    Buffer.of(0),
  ])
}
