// Runs the requested measurements, prints medians and ratios, and writes all figures to a file.
//
// To accept is compared with Postfix alone (Posthorn signs later), to relay with Postfix and
// OpenDKIM, which signs while it accepts. Both sides write to the same disk, take the same
// messages from Postfix's smtp-source and hand them to Postfix's smtp-sink.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { measureApi } from './api/main.mjs'
import { measureBroadcast } from './broadcast/main.mjs'
import { compare } from './compare.mjs'
import { durableFloor } from './durable-floor.mjs'
import { floor } from './floor.mjs'
import { measureAuthentication } from './inbound/authenticate.mjs'
import { measureInboundAll } from './inbound/main.mjs'
import { installPeers } from './install-peers.mjs'
import { measureAccept, measureRelay } from './measure.mjs'
import { readOptions, usage } from './options.mjs'
import { peersMissing, postfix, signingPostfix } from './postfix.mjs'
import { posthorn } from './posthorn.mjs'
import { queueCurve } from './queue.mjs'
import { relayFloor } from './relay-floor.mjs'
import { measureRest } from './rest.mjs'
import { restFloor } from './rest-floor.mjs'
import { measureRewrite } from './rewrite.mjs'
import { tableOf } from './table.mjs'
import { measureTrack } from './track/main.mjs'
import { measureWebhooks } from './webhooks/main.mjs'
import { measureZone } from './zone.mjs'

let options
try {
  options = readOptions(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`bench: ${error.message}\n\n${usage}`)
  process.exit(2)
}
if (options.help) {
  process.stdout.write(usage)
  process.exit(0)
}
if (options.installPeers) installPeers()

const folder = mkdtempSync(join(options.disk, '.bench-'))
const missing = peersMissing()
if (missing !== null) console.log(`Posthorn alone: ${missing}`)
const peers = missing === null ? [postfix] : []

const run = {
  accept: async () => {
    const results = []
    for (const size of options.sizes ?? [4096, 51_200]) {
      for (const sessions of options.sessions) results.push(await accept({ size, sessions, kept: true }))
      for (const sessions of options.newSessions ?? [10]) results.push(await accept({ size, sessions, kept: false }))
    }
    return results
  },
  relay: () => relay(options.sizes ?? [4096], [posthorn]),
  rest: async () => {
    console.log(
      '\nThere is no peer for the REST API: it is compared with what Posthorn accepts over SMTP in the same minute.',
    )
    const results = []
    for (const connections of options.sessions) {
      const { warmUp } = options
      const how = { folder, messages: options.messages ?? 5000, warmUp, size: 4096, sessions: connections, kept: true }
      const sides = [
        { name: 'REST over HTTPS', measure: () => measureRest(posthorn, how) },
        { name: 'SMTP', measure: () => measureAccept(posthorn, how) },
      ]
      const title = `POST /v1/emails, ${connections} kept connections, about 4096 octets`
      results.push(await compare(title, sides, options.rounds ?? 3))
    }
    return results
  },
  floor: async () => {
    if (options.inbound) return measureInboundAll({ folder, least: true, ...options })
    if (options.relay) return relay(options.sizes ?? [4096, 51_200], [posthorn, relayFloor])
    const results = []
    for (const sessions of options.sessions) {
      const { messages, warmUp } = options
      const how = { folder, messages: messages ?? 5000, warmUp, size: 4096, sessions, kept: true }
      for (const size of options.sizes ?? [4096]) {
        const sides = [posthorn, durableFloor, floor, ...peers]
        results.push(await accept({ size, sessions, kept: true, sides }))
      }
      const rest = [posthorn, restFloor].map((side) => ({ name: side.name, measure: () => measureRest(side, how) }))
      const restTitle = `POST /v1/emails, ${sessions} kept connections, beside a server that does nothing`
      results.push(await compare(restTitle, rest, options.rounds ?? 3))
    }
    // smtp-server alone waits 100 ms before it greets: here its CPU tells more than its rate.
    for (const sessions of options.newSessions ?? []) {
      results.push(await accept({ size: 4096, sessions, kept: false, sides: [posthorn, durableFloor, ...peers] }))
    }
    return results
  },
  broadcast: () => {
    const { messages, warmUp, rounds } = options
    return measureBroadcast({ folder, messages: messages ?? 5000, warmUp, rounds: rounds ?? 3 })
  },
  rewrite: () => measureRewrite({ messages: options.messages ?? 500 }),
  api: () => measureApi({ folder, ...options }),
  inbound: () => measureInboundAll({ folder, least: false, ...options }),
  authenticate: () => measureAuthentication({ folder, ...options }),
  track: () => {
    const { messages, warmUp, rounds, rate, seconds } = options
    return measureTrack({ folder, messages: messages ?? 5000, warmUp, rounds: rounds ?? 3, rate, seconds })
  },
  zone: () => {
    const { domains, messages, rounds } = options
    return measureZone({ folder, domains, messages: messages ?? 30_000, rounds: rounds ?? 3 })
  },
  webhooks: () => {
    const { messages, rounds, warmUp, events } = options
    return measureWebhooks({ folder, messages: messages ?? 5000, warmUp, rounds: rounds ?? 3, events })
  },
  queue: () =>
    queueCurve({
      folder,
      messages: options.messages ?? 2000,
      warmUp: options.warmUp,
      size: options.sizes?.[0] ?? 4096,
      depths: options.depths,
      rounds: options.rounds ?? 1,
    }),
}

const results = []
try {
  for (const what of options.asked) results.push(...(await run[what]()))
} finally {
  rmSync(folder, { recursive: true, force: true })
  writeDown()
}
const table = tableOf(results)
if (table !== '') console.log(`\n${table}`)
console.log(`\nall figures: ${options.json}`)

/** Also after a failure, so that earlier measurements are not lost. */
function writeDown() {
  const machine = { node: process.version, cpus: cpus().length, memory: totalmem() }
  const all = { at: new Date().toISOString(), ...machine, missing, results }
  writeFileSync(options.json, `${JSON.stringify(all, null, 2)}\n`)
}

/** `sides`: of the comparison, ours first. */
function accept({ size, sessions, kept, sides = [posthorn, ...peers] }) {
  const { warmUp, messages, rounds } = options
  const measure = (side) => measureAccept(side, { folder, messages: messages ?? 5000, warmUp, size, sessions, kept })
  const how = kept ? 'kept' : 'with a new connection for each message'
  const measured = sides.map((side) => ({ name: side.name, measure: () => measure(side) }))
  return compare(`accept, ${sessions} sessions ${how}, ${size} octets`, measured, rounds ?? 3)
}

/** `sides`: of the comparison, ours first; signing Postfix is added to them. */
async function relay(sizes, sides) {
  const { warmUp, messages, rounds } = options
  const results = []
  for (const size of sizes) {
    const how = { folder, messages: messages ?? 5000, warmUp, size, sessions: 20 }
    const all = missing === null ? [...sides, signingPostfix] : sides
    const measured = all.map((side) => ({ name: side.name, measure: () => measureRelay(side, how) }))
    results.push(await compare(`relay with DKIM (RSA-2048), 20 sessions, ${size} octets`, measured, rounds ?? 3))
  }
  return results
}
