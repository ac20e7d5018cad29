// Runs the requested measurements, prints medians and ratios, and writes all figures to a file.
//
// To accept is compared with Postfix alone (Posthorn signs later), to relay with Postfix and
// OpenDKIM, which signs while it accepts. Both sides write to the same disk, take the same
// messages from Postfix's smtp-source and hand them to Postfix's smtp-sink.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { measureApi } from './api/main.mjs'
import { measureBroadcast } from './broadcast.mjs'
import { compare } from './compare.mjs'
import { measureInbound } from './inbound/main.mjs'
import { installPeers } from './install-peers.mjs'
import { measureAccept, measureRelay } from './measure.mjs'
import { readOptions } from './options.mjs'
import { peersMissing, postfix, signingPostfix } from './postfix.mjs'
import { buildsBeside, engines, posthorn } from './posthorn.mjs'
import { queueCurve } from './queue.mjs'
import { measureRest } from './rest.mjs'
import { measureWebhooks } from './webhooks.mjs'

let options
try {
  options = readOptions(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`bench: ${error.message}\nscripts/bench --help lists the options\n`)
  process.exit(2)
}
if (options.installPeers) installPeers()

const folder = mkdtempSync(join(options.disk, '.bench-'))
const missing = peersMissing()
if (missing !== null) console.log(`Posthorn alone: ${missing}`)
const { messages = 5000, rounds = 3, warmUp, storage, build } = options
/** Both are ours, with `--storage postgres` or `--build`; else null. */
const own = build !== undefined ? buildsBeside(build) : storage === 'postgres' ? engines : null
const common = { folder, messages, rounds, warmUp }

const run = {
  accept: async () => {
    const results = []
    for (const size of options.sizes ?? [4096, 51_200]) {
      for (const sessions of options.sessions) results.push(await accept({ size, sessions, kept: true }))
      for (const sessions of options.newSessions) results.push(await accept({ size, sessions, kept: false }))
    }
    return results
  },
  relay: async () => {
    const results = []
    for (const size of options.sizes ?? [4096]) {
      const sides = sidesOf([posthorn, signingPostfix], (side) => measureRelay(side, { ...common, size, sessions: 20 }))
      results.push(await compare(`relay with DKIM (RSA-2048), 20 sessions, ${size} octets`, sides, rounds))
    }
    return results
  },
  rest: async () => {
    const results = []
    for (const sessions of options.sessions) {
      const how = { ...common, size: 4096, sessions, kept: true }
      const alone = [
        { name: 'REST over HTTPS', measure: () => measureRest(posthorn, how) },
        { name: 'SMTP', measure: () => measureAccept(posthorn, how) },
      ]
      const both = own?.map((side) => ({ name: side.name, measure: () => measureRest(side, how) }))
      const [sides, beside] = own === null ? [alone, ', beside our own SMTP'] : [both, '']
      const title = `POST /v1/emails, ${sessions} kept connections, about 4096 octets${beside}`
      results.push(await compare(title, sides, rounds))
    }
    return results
  },
  broadcast: () => measureBroadcast(common),
  api: () => measureApi({ folder, ...options }),
  inbound: () => measureInbound({ folder, ...options }),
  webhooks: () => measureWebhooks({ ...common, events: options.events }),
  queue: () =>
    queueCurve({
      ...{ folder, warmUp, depths: options.depths, size: options.sizes?.[0] ?? 4096 },
      ...{ messages: options.messages ?? 2000, rounds: options.rounds ?? 1 },
    }),
}

const results = []
try {
  for (const what of options.asked) results.push(...(await run[what]()))
} finally {
  rmSync(folder, { recursive: true, force: true })
  writeDown()
}
console.log(`\nall figures: ${options.json}`)

/** Also after a failure, so that earlier measurements are not lost. */
function writeDown() {
  const machine = { node: process.version, cpus: cpus().length, memory: totalmem() }
  const all = { at: new Date().toISOString(), ...machine, missing, results }
  writeFileSync(options.json, `${JSON.stringify(all, null, 2)}\n`)
}

/** Ours first; the other one only where its programs are installed. */
function sidesOf(sides, measure) {
  const present = own ?? (missing === null ? sides : sides.slice(0, 1))
  return present.map((side) => ({ name: side.name, measure: () => measure(side) }))
}

function accept({ size, sessions, kept }) {
  const how = kept ? 'kept' : 'with a new connection for each message'
  const sides = sidesOf([posthorn, postfix], (side) => measureAccept(side, { ...common, size, sessions, kept }))
  return compare(`accept, ${sessions} sessions ${how}, ${size} octets`, sides, rounds)
}
