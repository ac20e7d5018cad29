// The two measurements: how fast mail is taken, and how fast it gets through.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { performance } from 'node:perf_hooks'
import { freePort, watchTree } from './processes.mjs'

const SENDER = 'app@bench.test'
const RECIPIENT = 'someone@sink.test'

/** Messages taken a second, durable, while nothing is delivered: the next hop never greets. */
export async function measureAccept(side, { folder, messages, size, sessions }) {
  const hop = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(hop, 'listening')
  const server = await side.start({ folder, sink: hop.address().port, deliver: false })
  try {
    const watch = watchTree(server.pids())
    const seconds = await source(server.port, { messages, size, sessions })
    return { rate: messages / seconds, seconds, ...watch.end() }
  } finally {
    await server.stop()
    hop.close()
  }
}

/** Messages a second from the first command of the client to the last message at the sink. */
export async function measureRelay(side, { folder, messages, size, sessions }) {
  const sink = await startSink()
  const server = await side.start({ folder, sink: sink.port, deliver: true })
  try {
    const watch = watchTree(server.pids())
    const begun = performance.now()
    await source(server.port, { messages, size, sessions })
    await sink.received(messages)
    const seconds = (performance.now() - begun) / 1000
    return { rate: messages / seconds, seconds, ...watch.end() }
  } finally {
    await server.stop()
    await sink.stop()
  }
}

/** Postfix's load generator with kept sessions; resolves to the seconds that it took. */
async function source(port, { messages, size, sessions }) {
  const begun = performance.now()
  const client = spawn(
    'timeout',
    [
      '300',
      '/usr/sbin/smtp-source',
      '-d',
      '-s',
      String(sessions),
      '-m',
      String(messages),
      '-l',
      String(size),
      '-f',
      SENDER,
      '-t',
      RECIPIENT,
      `127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const [status] = await once(client, 'exit')
  if (status !== 0) throw new Error(`smtp-source ended with ${status}`)
  return (performance.now() - begun) / 1000
}

/** Postfix's smtp-sink, which counts on its standard output. */
async function startSink() {
  const port = await freePort()
  const user = process.getuid?.() === 0 ? ['-u', 'postfix'] : []
  const sink = spawn('/usr/sbin/smtp-sink', [...user, '-c', `127.0.0.1:${port}`, '1000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let count = 0
  let check = () => undefined
  sink.stdout.on('data', (chunk) => {
    for (const match of chunk.toString().matchAll(/mesg=(\d+)/g)) count = Number(match[1])
    check()
  })
  return {
    port,
    received: (messages) =>
      new Promise((resolve, reject) => {
        const timeout = setTimeout(() => reject(new Error(`the sink got ${count} of ${messages}`)), 300_000)
        check = () => {
          if (count < messages) return
          clearTimeout(timeout)
          resolve()
        }
        check()
      }),
    stop: async () => {
      sink.kill()
      await once(sink, 'exit')
    },
  }
}
