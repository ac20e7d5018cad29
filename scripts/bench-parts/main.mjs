// Runs the asked-for measurements, Posthorn and its peer in turn, and prints medians and ratios.
//
// To accept is compared with Postfix alone (Posthorn signs later), to relay with Postfix and
// OpenDKIM, which signs while it accepts.
//
// Both sides write to the same disk, take the same messages from Postfix's smtp-source and
// hand them to Postfix's smtp-sink. Without the peer's programs (or not as root, which
// Postfix needs) Posthorn is measured alone, and that is said.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { measureAccept, measureRelay } from './measure.mjs'
import { peersMissing, postfix, signingPostfix } from './postfix.mjs'
import { posthorn } from './posthorn.mjs'

const usage = `scripts/bench [accept] [relay] [options]
  --messages N      messages a run (default 5000)
  --rounds N        runs of each side (default 3)
  --sizes A,B       octets of a message (default 4096)
  --sessions A,B    SMTP sessions at once, for accept (default 1,10,50)
  --disk DIR        where both sides keep their data (default: the project's folder)
  --json FILE       write all figures there as well
  --install-peers   as root: install Debian's postfix and opendkim first
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    messages: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '3' },
    sizes: { type: 'string', default: '4096' },
    sessions: { type: 'string', default: '1,10,50' },
    disk: { type: 'string', default: '.' },
    json: { type: 'string' },
    'install-peers': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(usage)
  process.exit(0)
}
if (values['install-peers']) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  execFileSync('apt-get', ['update', '-q'], { stdio: 'ignore', env })
  execFileSync('apt-get', ['install', '-yq', 'postfix', 'opendkim', 'opendkim-tools'], { stdio: 'ignore', env })
}

const asked = positionals.length === 0 ? ['accept', 'relay'] : positionals
const numbers = (text) => text.split(',').map(Number)
const messages = Number(values.messages)
const rounds = Number(values.rounds)
const folder = mkdtempSync(join(resolve(values.disk), '.bench-'))
const missing = peersMissing()
if (missing !== null) console.log(`Posthorn alone: ${missing}`)

const results = []
try {
  for (const what of asked) {
    if (what === 'accept') {
      for (const size of numbers(values.sizes)) {
        for (const sessions of numbers(values.sessions)) {
          results.push(
            await compare(`accept, ${sessions} sessions, ${size} octets`, postfix, (side) =>
              measureAccept(side, { folder, messages, size, sessions }),
            ),
          )
        }
      }
    } else if (what === 'relay') {
      for (const size of numbers(values.sizes)) {
        results.push(
          await compare(`relay with DKIM, 20 sessions, ${size} octets`, signingPostfix, (side) =>
            measureRelay(side, { folder, messages, size, sessions: 20 }),
          ),
        )
      }
    } else {
      throw new Error(`unknown measurement: ${what}`)
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
if (values.json !== undefined) {
  writeFileSync(
    values.json,
    `${JSON.stringify({ node: process.version, cpus: cpus().length, messages, rounds, results }, null, 2)}\n`,
  )
}

/** Rounds of each side in turn, so that a slow minute of the machine hits both. */
async function compare(name, peer, measure) {
  const sides = missing === null ? [posthorn, peer] : [posthorn]
  console.log(`\n${name}`)
  const runs = new Map(sides.map((side) => [side.name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const side of sides) {
      const run = await measure(side)
      runs.get(side.name).push(run)
      console.log(
        `  ${side.name.padEnd(20)} ${run.rate.toFixed(0).padStart(6)} messages/s  ${run.megabytes.toFixed(0).padStart(5)} MB at most  ${run.cpu.toFixed(2)} CPU s`,
      )
    }
  }
  const rates = Object.fromEntries([...runs].map(([side, list]) => [side, median(list.map(({ rate }) => rate))]))
  const ratio = missing === null ? rates[posthorn.name] / rates[peer.name] : null
  if (ratio !== null) console.log(`  ratio of medians: ${ratio.toFixed(2)}`)
  return { name, ratio, rates, runs: Object.fromEntries(runs) }
}

function median(list) {
  const sorted = list.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}
