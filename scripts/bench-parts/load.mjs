// The client that sends mail and the sink that receives it: Postfix's if they are installed, else ours.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { startCounting } from '../lib/counting-process.mjs'
import { freePort, listening } from '../lib/processes.mjs'

export const SENDER = 'app@bench.test'
export const RECIPIENT = 'someone@sink.test'

const postfixSource = '/usr/sbin/smtp-source'
const postfixSink = '/usr/sbin/smtp-sink'
/** The message, for our own client. */
const letters = join(tmpdir(), `posthorn-letters-${process.pid}.json`)
const ownProgram = (name) => [process.execPath, fileURLToPath(new URL(name, import.meta.url))]

/**
 * Sends messages over kept sessions or with a new connection for each; resolves to the seconds that it took.
 * `file`: the message, instead of one of `size` octets.
 */
export async function source(port, load) {
  const begun = performance.now()
  const client = spawn('timeout', ['900', ...sourceWords(port, load).map(String)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [status] = await once(client, 'exit')
  rmSync(letters, { force: true })
  if (status !== 0) throw new Error(`the client ended with ${status}`)
  return (performance.now() - begun) / 1000
}

function sourceWords(port, { messages, size, sessions, kept, recipient = RECIPIENT, file }) {
  if (!existsSync(postfixSource)) {
    const message = file === undefined ? generate(size) : readFileSync(file, 'utf8').replace(/\r?\n/g, '\r\n')
    writeFileSync(letters, JSON.stringify({ recipient, letters: [{ from: SENDER, message }] }))
    return [...ownProgram('own-source.mjs'), letters, port, sessions, messages, kept ? 'kept' : 'new']
  }
  const content = file === undefined ? ['-l', size] : ['-F', file]
  const how = [...(kept ? ['-d'] : []), '-s', sessions, '-m', messages, ...content, '-f', SENDER, '-t', recipient]
  return [postfixSource, ...how, `127.0.0.1:${port}`]
}

function generate(size) {
  const line = `${'X'.repeat(78)}\r\n`
  return `From: <${SENDER}>\r\nTo: <${RECIPIENT}>\r\nSubject: a message\r\n\r\n${line.repeat(Math.ceil(size / line.length))}`
}

/** Accepts every message, in a process of its own that counts. */
export async function startSink() {
  const port = await freePort()
  const counting = startCounting(sinkProgram(port), 'mesg')
  await listening(port)
  return { port, ...counting }
}

function sinkProgram(port) {
  if (!existsSync(postfixSink)) return [...ownProgram('../lib/smtp-sink.mjs'), String(port)]
  const user = process.getuid?.() === 0 ? ['-u', 'postfix'] : []
  return [postfixSink, ...user, '-c', `127.0.0.1:${port}`, '1000']
}
