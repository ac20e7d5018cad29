/**
 * Asks a time server how far this machine's clock is off: one packet of SNTP (RFC 4330), as a client.
 *
 * The transmit timestamp of the query is random, and a reply must repeat it, so a datagram of another sender does not
 * count (RFC 8915 section 1 says why the query should not tell our time).
 */
import { randomBytes } from 'node:crypto'
import { createSocket, type SocketOptions } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Clock } from './clock.js'

const PACKET_SIZE = 48
/** No leap warning, version 4, mode 3: a client. */
const CLIENT_MODE = 0x23
const SERVER_MODE = 4
const MAX_STRATUM = 15
/** Seconds from 1900, where NTP counts from, to 1970. */
const NTP_EPOCH = 2_208_988_800
/** Offsets in the packet. */
const [ORIGIN, RECEIVED, TRANSMITTED] = [24, 32, 40]

interface SntpServer {
  /** An IP address. */
  readonly address: string
  readonly port: number
}

interface SntpOptions {
  readonly clock: Clock
  /** Milliseconds. */
  readonly timeout: number
}

/** Milliseconds that this machine's clock is ahead of the server; negative: behind. Null: no usable reply. */
export function measureClockOffset(server: SntpServer, { clock, timeout }: SntpOptions): Promise<number | null> {
  const query = Buffer.alloc(PACKET_SIZE)
  query.writeUInt8(CLIENT_MODE, 0)
  randomBytes(8).copy(query, TRANSMITTED)
  return new Promise((resolve) => {
    const socket = createSocket({ type: isIPv6(server.address) ? 'udp6' : 'udp4', lookup })
    let sentAt = clock()
    const finish = (offset: number | null): void => {
      clearTimeout(timer)
      socket.removeAllListeners().on('error', () => undefined)
      socket.close()
      resolve(offset)
    }
    const timer = setTimeout(finish, timeout, null)
    socket.on('error', () => finish(null))
    socket.on('message', (reply) => {
      if (isReplyTo(query, reply)) finish(readOffset(reply, sentAt, clock()))
    })
    socket.on('connect', () => {
      sentAt = clock()
      socket.send(query)
    })
    socket.connect(server.port, server.address)
  })
}

/** Servers are addresses; by default Node.js would pass them to the system's resolver. */
const lookup: SocketOptions['lookup'] = (address, _options, done) => done(null, address, isIPv6(address) ? 6 : 4)

function isReplyTo(query: Buffer, reply: Buffer): boolean {
  return (
    reply.length >= PACKET_SIZE &&
    reply.subarray(ORIGIN, ORIGIN + 8).equals(query.subarray(TRANSMITTED, TRANSMITTED + 8))
  )
}

/** Null: the server is not synchronized, or refuses (stratum 0, RFC 4330 section 8). */
function readOffset(reply: Buffer, sentAt: number, receivedAt: number): number | null {
  const stratum = reply.readUInt8(1)
  const isServer = (reply.readUInt8(0) & 7) === SERVER_MODE
  const isSynchronized = reply.readUInt8(0) >> 6 !== 3
  if (!isServer || !isSynchronized || stratum === 0 || stratum > MAX_STRATUM) return null
  const [received, transmitted] = [readTime(reply, RECEIVED), readTime(reply, TRANSMITTED)]
  return Math.round((sentAt - received + (receivedAt - transmitted)) / 2)
}

/** Epoch milliseconds. The era that begins in 2036 has the highest bit unset (RFC 4330 section 3). */
function readTime(reply: Buffer, at: number): number {
  const seconds = reply.readUInt32BE(at)
  const era = seconds < 0x8000_0000 ? 2 ** 32 : 0
  return (seconds + era - NTP_EPOCH) * 1_000 + (reply.readUInt32BE(at + 4) * 1_000) / 2 ** 32
}
