// How many inbound messages a second are accepted, processed and filed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { watchTree } from '../../lib/processes.mjs'
import { watchServer } from '../measure.mjs'
import { RECIPIENT } from './messages.mjs'

const program = fileURLToPath(new URL('../own-source.mjs', import.meta.url))

/** The messages to send: a file for the client. */
export function writeLetters(folder, letters) {
  const file = join(folder, 'letters.json')
  writeFileSync(file, JSON.stringify({ recipient: RECIPIENT, letters }))
  return file
}

/** Started, and with its warm-up behind it. */
export async function openInbound(side, { folder, dns, file, messages, warmUp, sessions }) {
  const server = await side.start({ folder, dns })
  try {
    await handIn(server.port, { file, messages: warmUp, sessions })
    await filed(server, warmUp)
  } catch (error) {
    await server.stop()
    throw error
  }
  let sent = warmUp
  const measure = async () => {
    sent += messages
    return measureRun(server, { file, messages, sessions, sent })
  }
  return { measure, stop: () => server.stop() }
}

/**
 * From the first command of the client until the last message is authenticated, scored and filed; it is the last one of `sent`.
 * `clientCpu` is that of the client, the DNS server and this program.
 */
async function measureRun(server, { file, messages, sessions, sent }) {
  const watch = watchServer(server)
  const load = watchTree([process.pid], [...server.pids(), ...(server.storagePids?.() ?? [])])
  const begun = performance.now()
  const taken = await handIn(server.port, { file, messages, sessions })
  await filed(server, sent)
  const seconds = (performance.now() - begun) / 1000
  const used = { ...watch.end(), clientCpu: load.end().cpu }
  await server.verify()
  return { rate: messages / seconds, seconds, messages, taken: messages / taken, ...used }
}

/** Resolves to the seconds until the last message was answered. */
async function handIn(port, { file, messages, sessions }) {
  const begun = performance.now()
  const words = [file, port, sessions, messages].map(String)
  const client = spawn('timeout', ['3600', process.execPath, program, ...words], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [status] = await once(client, 'exit')
  if (status !== 0) throw new Error(`the client ended with ${status}`)
  return (performance.now() - begun) / 1000
}

async function filed(server, messages) {
  const until = performance.now() + 300_000
  while ((await server.filed()) < messages) {
    if (performance.now() > until) throw new Error(`${await server.filed()} of ${messages} were filed`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
