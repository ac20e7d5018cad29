// How fast mail is accepted, and how fast it is relayed.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { performance } from 'node:perf_hooks'
import { watchTree } from '../lib/processes.mjs'
import { source, startSink } from './load.mjs'

/** What its processes use, and as `storageCpu` those of the server that has its data, if there is one. */
export function watchServer({ pids, storagePids }) {
  const watch = watchTree(pids())
  const ofStorage = storagePids?.() ?? []
  const storage = ofStorage.length === 0 ? null : watchTree(ofStorage)
  return { end: () => ({ ...watch.end(), ...(storage !== null && { storageCpu: storage.end().cpu }) }) }
}

/** Messages accepted a second, durable, while nothing is delivered: the next hop never greets. */
export async function measureAccept(side, { folder, messages, warmUp, size, sessions, kept }) {
  const hop = await silentHop()
  const server = await side.start({ folder, sink: hop.port, deliver: false })
  try {
    if (warmUp > 0) await source(server.port, { messages: warmUp, size, sessions, kept })
    const watch = watchServer(server)
    const seconds = await source(server.port, { messages, size, sessions, kept })
    return { rate: messages / seconds, seconds, messages, ...watch.end() }
  } finally {
    hop.close()
    await server.stop()
  }
}

/** Messages a second from the first command of the client to the last message at the sink. */
export async function measureRelay(side, { folder, messages, warmUp, size, sessions }) {
  const sink = await startSink()
  const server = await side.start({ folder, sink: sink.port, deliver: true })
  try {
    if (warmUp > 0) {
      await source(server.port, { messages: warmUp, size, sessions, kept: true })
      await sink.received(warmUp)
    }
    const watch = watchServer(server)
    const begun = performance.now()
    await source(server.port, { messages, size, sessions, kept: true })
    await sink.received(warmUp + messages)
    const seconds = (performance.now() - begun) / 1000
    return { rate: messages / seconds, seconds, messages, ...watch.end() }
  } finally {
    await server.stop()
    await sink.stop()
  }
}

/**
 * Accepts connections and never sends a greeting, so that mail for it stays in the queue. To be
 * closed before the server is stopped, which would wait for it.
 */
export async function silentHop(host = '127.0.0.1') {
  const sockets = new Set()
  const hop = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
  })
  hop.listen(0, host)
  await once(hop, 'listening')
  return {
    address: `${host}:${hop.address().port}`,
    port: hop.address().port,
    close: () => {
      hop.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
