// Sends the same mail by each side through five providers with limits, one side after the other, and prints how much of
// the pace that each provider allows was used, and how many of the attempts were refused for pace.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePort } from '../bench-parts/processes.mjs'
import { openDns } from './dns.mjs'
import { allowedPace, divide, providers } from './providers.mjs'
import { printSide, summarize } from './report.mjs'
import { sides } from './sides.mjs'

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '200000' },
    sides: { type: 'string', default: 'posthorn,default,transports' },
    // How many times as long as the providers need at best a side may take.
    patience: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    disk: { type: 'string', default: '.' },
  },
})
const messages = Number(values.messages)
const shares = divide(messages)
const best = Math.max(...providers.map((provider) => (shares.get(provider.name) ?? 0) / allowedPace(provider)))
const folder = mkdtempSync(join(resolve(values.disk), '.provider-sim-'))
console.log(`${messages} messages, which the providers take in ${best.toFixed(0)} s at best`)
try {
  const outcomes = []
  for (const name of values.sides.split(',')) {
    const outcome = await runSide(sides[name])
    outcomes.push(outcome)
    printSide(outcome)
  }
  summarize(outcomes)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function runSide({ title, start }) {
  const port = await freePort()
  const dns = await openDns()
  const servers = fork(fileURLToPath(new URL('servers.mjs', import.meta.url)), [String(port), values.seed])
  let states = null
  servers.on('message', (counts) => {
    states = counts
  })
  await once(servers, 'message')
  const server = await start({ folder, port, dns: dns.port })
  const begun = Date.now()
  try {
    const sources = providers.map((provider) => sendTo(provider, server.port))
    const end = begun + best * Number(values.patience) * 1000 + 60_000
    while (Date.now() < end && providers.some(({ name }) => states[name].settled < shares.get(name))) await sleep(1_000)
    for (const source of sources) source.kill()
    return { title, states, shares, seconds: (Date.now() - begun) / 1000 }
  } finally {
    await server.stop()
    servers.disconnect()
    await once(servers, 'exit')
    dns.close()
  }
}

/** smtp-source of Postfix, with a recipient of its own for each message. */
function sendTo({ name, domain }, port) {
  const count = String(shares.get(name))
  const how = ['-d', '-N', '-s', '5', '-m', count, '-l', '4096', '-f', 'app@bench.test', '-t', `user@${domain}`]
  return spawn('/usr/sbin/smtp-source', [...how, `127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'inherit'] })
}
