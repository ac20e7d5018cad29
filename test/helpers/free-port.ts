/**
 * TCP ports on 127.0.0.1 that are free, for programs that must be told their port before they start.
 *
 * They lie below the range from which the system takes ports of its own (32768 and up on Linux), so that no connection
 * or listener of another test takes one between the check and its use.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

const FIRST = 12_000
const LAST = 32_000

export async function freePort(): Promise<number> {
  return freeBase([0])
}

/** A number for which `base + offset` is free for each of the offsets, which are at most 700. */
export async function freeBase(offsets: readonly number[]): Promise<number> {
  for (;;) {
    const base = randomInt(FIRST, LAST)
    const servers = await Promise.all(offsets.map((offset) => tryListen(base + offset)))
    for (const server of servers) if (server !== null) await once(server.close(), 'close')
    if (!servers.includes(null)) return base
  }
}

async function tryListen(port: number): Promise<Server | null> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return server
  } catch {
    return null
  }
}
