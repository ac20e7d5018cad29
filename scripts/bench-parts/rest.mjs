// How many POST /v1/emails a second are answered 201, over kept HTTPS connections, durable, while nothing is delivered.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { silentHop } from './measure.mjs'
import { watchTree } from './processes.mjs'

const client = fileURLToPath(new URL('rest-client.mjs', import.meta.url))

export async function measureRest(side, { folder, messages, warmUp, sessions }) {
  const hop = await silentHop()
  const server = await side.start({ folder, sink: hop.port, deliver: false })
  try {
    if (warmUp > 0) await post(server.api, warmUp, sessions)
    const watch = watchTree(server.pids())
    const { seconds, cpu } = await post(server.api, messages, sessions)
    return { rate: messages / seconds, seconds, messages, clientCpu: cpu, ...watch.end() }
  } finally {
    hop.close()
    await server.stop()
  }
}

/** In a process of its own, which also measures the seconds from the first request to the last answer, and its CPU time. */
async function post({ port, ca, key }, messages, connections) {
  const child = spawn('timeout', ['300', process.execPath, client, ...[port, ca, connections, messages].map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, BENCH_API_KEY: key },
  })
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (status !== 0) throw new Error(`the REST client ended with ${status}`)
  return JSON.parse(said)
}
