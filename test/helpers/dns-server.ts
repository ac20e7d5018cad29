/**
 * A DNS server on loopback, over UDP, that answers from a function: for tests of the
 * true resolver. Just enough of RFC 1035 for one question and plain records.
 */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

export type DnsRecord =
  | {
      readonly type: 'A' | 'AAAA' | 'CNAME' | 'PTR'
      readonly ttl: number
      readonly value: string
      readonly name?: string
    }
  | { readonly type: 'MX'; readonly ttl: number; readonly preference: number; readonly value: string }
  | { readonly type: 'TXT'; readonly ttl: number; readonly strings: readonly string[] }

export type DnsAnswer =
  | readonly DnsRecord[]
  | 'NXDOMAIN'
  | 'SERVFAIL'
  | 'REFUSED'
  /** No answer at all. */
  | 'silence'

/** `question` as `MX b.test`. */
export type DnsZone = (question: string) => DnsAnswer

export interface DnsServer {
  readonly address: string
  /** Every question asked so far. */
  readonly asked: readonly string[]
  readonly close: () => void
}

const codes = { A: 1, CNAME: 5, PTR: 12, MX: 15, TXT: 16, AAAA: 28 } as const
const failures = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const

export async function dnsServer(zone: DnsZone): Promise<DnsServer> {
  const socket: Socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, { port, address }) => {
    const { question, name, end } = read(query)
    asked.push(question)
    const answer = zone(question)
    if (answer !== 'silence') socket.send(response(query.subarray(0, end), name, answer), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() }
}

function read(query: Buffer): { readonly question: string; readonly name: string; readonly end: number } {
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

function response(question: Buffer, name: string, answer: Exclude<DnsAnswer, 'silence'>): Buffer {
  const found = typeof answer === 'string' ? [] : answer
  const header = Buffer.from(question)
  header.writeUInt16BE(0x8580 | (typeof answer === 'string' ? failures[answer] : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(found.length, 6)
  header.writeUInt32BE(0, 8)
  return Buffer.concat([header, ...found.map((record) => encoded(record, name))])
}

function encoded(record: DnsRecord, name: string): Buffer {
  const content = contentOf(record)
  const head = Buffer.alloc(10)
  head.writeUInt16BE(codes[record.type], 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt32BE(record.ttl, 4)
  head.writeUInt16BE(content.length, 8)
  return Buffer.concat([labels('name' in record && record.name !== undefined ? record.name : name), head, content])
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
    case 'PTR':
      return labels(record.value)
    case 'MX':
      return Buffer.concat([Buffer.from([record.preference >> 8, record.preference & 255]), labels(record.value)])
    case 'TXT':
      return Buffer.from(record.strings.map((text) => `${String.fromCharCode(text.length)}${text}`).join(''), 'latin1')
  }
}

function labels(name: string): Buffer {
  const parts = name.split('.').filter((part) => part !== '')
  return Buffer.concat([
    ...parts.map((part) => Buffer.from(`${String.fromCharCode(part.length)}${part}`, 'latin1')),
    Buffer.of(0),
  ])
}
