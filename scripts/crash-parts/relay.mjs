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

/** While it is muted nothing comes back from the server, on any connection. Connections of that time are to be ended then. */
export async function openRelay(port) {
  const child = fork(file, [String(port)])
  const [own] = await once(child, 'message')
  child.unref()
  child.channel.unref()
  return {
    host: `127.0.0.1:${own}`,
    mute: async (isMuted) => {
      child.send(isMuted)
      await sleep(PASS_TIME)
    },
  }
}

async function serve(port) {
  let isMuted = false
  process.on('message', (muted) => {
    isMuted = muted
  })
  process.on('disconnect', () => process.exit())
  const relay = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    client.setNoDelay(true)
    server.setNoDelay(true)
    client.on('data', (bytes) => server.write(bytes))
    server.on('data', (bytes) => isMuted || client.write(bytes))
    client.on('error', () => undefined).on('close', () => server.destroy())
    server.on('error', () => undefined).on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  process.send(relay.address().port)
}

if (process.argv[1] === file) await serve(Number(process.argv[2]))
