// Requests to the REST API over kept HTTPS connections; and how many POST /v1/emails a second are answered 201, durable, while
// nothing is delivered.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { silentHop, watchServer } from './measure.mjs'

const client = fileURLToPath(new URL('rest-client.mjs', import.meta.url))
const LIMIT_SECONDS = 600
const email = {
  from: 'Bench <app@bench.test>',
  to: ['someone@sink.test'],
  subject: 'A message',
  html: `<p>${'Some words of a message that an application sends. '.repeat(44)}</p>`,
  text: 'Some words of a message that an application sends. '.repeat(26),
}

/** `asked`: { status, requests, count }, as the client takes them, in a process of its own. */
export async function askRest({ port, ca, key }, asked, connections) {
  const words = [String(LIMIT_SECONDS), process.execPath, client, ...[port, ca, connections].map(String)]
  const child = spawn('timeout', words, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, BENCH_API_KEY: key },
  })
  child.stdin.end(JSON.stringify(asked))
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (status !== 0) throw new Error(`the REST client ended with ${status}`)
  return JSON.parse(said)
}

export async function measureRest(side, { folder, messages, warmUp, sessions }) {
  const hop = await silentHop()
  const server = await side.start({ folder, sink: hop.port, deliver: false })
  const requests = [{ method: 'POST', path: '/v1/emails', body: email }]
  const post = (count) => askRest(server.api, { status: 201, requests, count }, sessions)
  try {
    if (warmUp > 0) await post(warmUp)
    const watch = watchServer(server)
    const { seconds, cpu } = await post(messages)
    return { rate: messages / seconds, seconds, messages, clientCpu: cpu, ...watch.end() }
  } finally {
    hop.close()
    await server.stop()
  }
}
