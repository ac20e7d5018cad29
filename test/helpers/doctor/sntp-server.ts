/** A time server on loopback, whose clock is `offset` milliseconds ahead of this machine's. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Test } from 'tap'

interface SntpServerOptions {
  readonly offset?: number
  readonly stratum?: number
  /** The leap indicator, version and mode. */
  readonly head?: number
  /** Changes the reply before it is sent. */
  readonly spoil?: (reply: Buffer) => Buffer
}

const NTP_EPOCH = 2_208_988_800

/** Returns its port. */
export async function sntpServer(t: Test, options: SntpServerOptions = {}): Promise<number> {
  const { offset = 0, stratum = 2, head = 0x24, spoil = (reply) => reply } = options
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const reply = Buffer.alloc(48)
    reply.writeUInt8(head, 0)
    reply.writeUInt8(stratum, 1)
    query.copy(reply, 24, 40, 48)
    const at = Date.now() + offset
    for (const place of [32, 40]) {
      reply.writeUInt32BE((Math.floor(at / 1_000) + NTP_EPOCH) % 2 ** 32, place)
      reply.writeUInt32BE(Math.floor(((at % 1_000) / 1_000) * 2 ** 32), place + 4)
    }
    socket.send(spoil(reply), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return socket.address().port
}
