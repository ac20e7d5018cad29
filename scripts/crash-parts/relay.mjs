// A way to a server on which answers can get lost: the server still gets what it is sent, and commits it. It is a process of its
// own, because this program waits for commands that use it.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(import.meta.url)
/** Milliseconds until the process has heard of a change. */
const PASS_TIME = 20

/**
 * While it is muted nothing comes back from the server, on any connection. Connections of that time are to be ended then. While it is
 * cut nothing passes at all, and new connections stay silent, as if the network between them were gone.
 */
export async function openRelay(port) {
  const child = fork(file, [String(port)])
  const [own] = await once(child, 'message')
  child.unref()
  child.channel.unref()
  return {
    host: `127.0.0.1:${own}`,
    mute: async (isMuted) => {
      child.send({ isMuted })
      await sleep(PASS_TIME)
    },
    cut: async (isCut) => {
      child.send({ isCut })
      await sleep(PASS_TIME)
    },
  }
}

async function serve(port) {
  const state = { isMuted: false, isCut: false }
  /** Pairs that were open when it was cut: what they had sent is lost, so they are never used again. */
  const open = new Set()
  process.on('message', (changes) => {
    Object.assign(state, changes)
    if (state.isCut) for (const pair of open) pair.isLost = true
  })
  process.on('disconnect', () => process.exit())
  const relay = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    const pair = { isLost: state.isCut }
    open.add(pair)
    client.setNoDelay(true)
    server.setNoDelay(true)
    client.on('data', (bytes) => pair.isLost || server.write(bytes))
    server.on('data', (bytes) => pair.isLost || state.isMuted || client.write(bytes))
    client.on('error', () => undefined).on('close', () => endPair(pair, server))
    server.on('error', () => undefined).on('close', () => endPair(pair, client))
  }).listen(0, '127.0.0.1')
  /** The other end of a lost pair hears nothing of it: the server keeps its session until it notices by itself. */
  function endPair(pair, other) {
    open.delete(pair)
    if (!pair.isLost) other.destroy()
  }
  await once(relay, 'listening')
  process.send(relay.address().port)
}

if (process.argv[1] === file) await serve(Number(process.argv[2]))
