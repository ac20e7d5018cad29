// Disturbs three nodes under load, and compares what clients were told with the database, the remote host and a webhook: nothing
// acknowledged is lost, nothing is accepted twice, retries come from the address of the first attempt unless its node was
// disturbed, each contact has one email of the broadcast, the webhook has every event, and a quota is used to its last email.
import { mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { balanceBroadcast, balanceEvents } from '../crash-parts/arrivals.mjs'
import { countTwice } from '../crash-parts/cuts.mjs'
import { Ledger } from '../crash-parts/ledger.mjs'
import { submitByRest } from '../crash-parts/rest-clients.mjs'
import { startServers } from '../crash-parts/servers.mjs'
import { fillAudience, openBroadcasts } from '../lib/broadcasts.mjs'
import { isExercised } from '../lib/exercised.mjs'
import { createClient } from '../lib/https-client.mjs'
import { submitBySmtp } from '../lib/numbered-load.mjs'
import { readRows } from '../lib/rows.mjs'
import { seeded } from '../lib/seeded.mjs'
import { openSink } from '../lib/smtp-sink.mjs'
import { EVENT_TYPES, openEndpoint } from '../lib/webhook-endpoint.mjs'
import { Attempts } from './attempts.mjs'
import { createBalancedClient, useUpQuota } from './clients.mjs'
import { countDeadlocks, Faults } from './faults.mjs'
import { openNodes } from './nodes.mjs'
import { openWorkspaces, sendFromAll } from './workspaces.mjs'

const number = (name, value) => [name, { type: 'string', default: value }]
const { values } = parseArgs({
  options: {
    ...Object.fromEntries([number('kills', '50'), number('pairs', '50'), number('freezes', '2'), number('cuts', '3')]),
    ...Object.fromEntries([number('failovers', '2'), number('drains', '3'), number('minutes', '0')]),
    ...Object.fromEntries([number('workspaces', '50'), number('contacts', '3000'), number('quota', '1000')]),
    ...Object.fromEntries([number('disk', '.'), number('seed', String(process.pid))]),
  },
})
const asked = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]))
const random = seeded(asked.seed)
const folder = mkdtempSync(join(resolve(values.disk), '.cluster-'))
const postgres = await startServers(folder, { isPair: true })
const attempts = new Attempts()
const sink = await openSink((message, _, address) => attempts.take(message, address))
const webhook = await openEndpoint()
// The clients of the crash test send from there.
const domain = 'crash.test'
const { nodes, workspaceId, key } = await openNodes(folder, {
  ...{ servers: postgres.ports, database: postgres.database, domain, sinkPort: sink.port },
  plans: { capped: { emails_per_day: asked.quota } },
})
// After a fault of this program nothing stays behind.
process.once('exit', () => {
  for (const node of nodes) node.endAtOnce()
  postgres.end()
})
const database = postgres.direct
const ledger = new Ledger()
const over = new AbortController()

if (asked.minutes > 0) await runQuietly()
else await runDisturbed()

/** Many workspaces send at all nodes at once. */
async function runQuietly() {
  const workspaces = await openWorkspaces(nodes[0], asked.workspaces)
  for (const node of nodes) await node.start()
  const sending = nodes.map((node) => sendFromAll(over.signal, node, workspaces, random))
  const answers = {}
  for (let minute = 1; minute <= asked.minutes; minute += 1) {
    await sleep(60_000)
    if (minute % 10 === 0) console.log(`${minute} minutes, deadlocks ${await countDeadlocks(database())}`)
  }
  over.abort()
  for (const counts of await Promise.all(sending))
    for (const [status, count] of Object.entries(counts)) answers[status] = (answers[status] ?? 0) + count
  const left = await drained(300)
  const deadlocks = await countDeadlocks(database())
  // The daemons send notices of their own.
  const [{ count: emails }] = await readRows(
    database(),
    "select count(*) as count from emails where from_email like 'app@%'",
  )
  const statuses = []
  for (const node of nodes) statuses.push(await node.stop())
  console.log(
    `${asked.minutes} minutes, workspaces ${workspaces.length}, answers ${JSON.stringify(answers)}, emails ${emails}, left in the queue ${left}, deadlocks ${deadlocks}`,
  )
  finish(deadlocks === 0 && left === 0 && emails === answers[201] && statuses.every((status) => status === 0))
}

async function runDisturbed() {
  const capped = makeCapped()
  const audienceId = await fillAudience(
    { database: database(), workspaceId },
    asked.contacts,
    (n) => `contact${n}@sink.test`,
  )
  for (const node of nodes) await node.start()
  const rest = { port: nodes[0].ports.api, key }
  for (const { key: own } of [rest, { key: capped.api_key }]) {
    const client = createClient({ ...rest, key: own })
    await client.demand('POST', '/v1/webhooks', { url: webhook.url, events: EVENT_TYPES })
    client.close()
  }
  const balanced = openBroadcasts(rest)
  const broadcastId = await balanced.send(audienceId, `News <news@${domain}>`, '<p>To {{email}}</p>')
  balanced.close()

  const kinds = [false, true].map((batch) => ({ batch, idempotent: true }))
  const load = nodes.flatMap((node, first) => [
    submitBySmtp(
      over.signal,
      { name: 'smtp', port: node.ports.submission, from: `app@${domain}`, to: 'someone@sink.test' },
      ledger,
    ),
    submitBySmtp(
      over.signal,
      { name: 'mx', port: node.ports.mx, from: 'stranger@elsewhere.test', to: `anybody@${domain}` },
      ledger,
    ),
    submitByRest(over.signal, { port: node.ports.api, key }, { batch: false, idempotent: false }, ledger),
    submitByRest(over.signal, { key }, kinds[first % 2], ledger, () => createBalancedClient(nodes, { key, first })),
  ])
  const quota = nodes.map((_, first) =>
    useUpQuota(over.signal, createBalancedClient(nodes, { key: capped.api_key, first }), 'app@capped.test'),
  )
  console.log(`seed ${asked.seed}, three nodes, ${load.length + quota.length} clients`)
  const faults = new Faults({ nodes, postgres, database, random, ledger, attempts })
  const done = await faults.run(asked)
  over.abort()
  await Promise.all(load)
  const taken = (await Promise.all(quota)).reduce((sum, counts) => sum + (counts[201] ?? 0), 0)

  const left = await drained(900)
  const broadcasts = openBroadcasts(rest)
  const broadcast = await broadcasts.finished(broadcastId, 600)
  broadcasts.close()
  const events = await balanceEvents(database(), webhook.times, 300)
  const deadlocks = done.deadlocks + (await countDeadlocks(database()))
  const statuses = []
  for (const node of nodes) statuses.push(await node.stop())
  const news = await balanceBroadcast(database(), {
    broadcast,
    contacts: asked.contacts,
    arrivals: attempts.arrivals.contacts,
  })
  const { lost, good: isBalanced, repeated } = await ledger.balance(database(), attempts.arrivals.numbers)
  const { twice, underWay } = countTwice(attempts.arrivals.numbers, done.times)
  const { retried, strayed } = attempts.findStrayed(nodes)
  const [{ count: counted }] = await readRows(
    database(),
    'select count(*) as count from emails where workspace_id = ?',
    capped.workspace_id,
  )
  console.log(
    `accepted ${ledger.size}, delivered ${attempts.arrivals.numbers.size}, lost ${lost}, delivered twice ${twice}, of which under way ${underWay}, left in the queue ${left}`,
  )
  console.log(`quota ${asked.quota}: answered 201 ${taken}, emails ${counted}`)
  console.log(
    `retries ${retried}, from another address although the node was well ${strayed.length}${strayed
      .slice(0, 5)
      .map((line) => `\n  ${line}`)
      .join('')}`,
  )
  console.log(news.line)
  console.log(events.line)
  console.log(`adoptions ${done.adoptions}, deadlocks ${deadlocks}, exit statuses ${statuses.join(', ')}`)
  for (const node of nodes) if (node.fault !== undefined) console.log(`node ${node.name}: ${node.fault}`)
  const exercised = isExercised({
    ...ledger.countAccepted(),
    'requests repeated at another node': repeated,
    'messages that were retried': retried,
    'adoptions of a node': done.adoptions,
    'events of the webhook': events.count,
  })
  finish(
    isBalanced &&
      exercised &&
      news.good &&
      lost === 0 &&
      left === 0 &&
      twice === underWay &&
      strayed.length === 0 &&
      events.missing === 0 &&
      deadlocks === 0 &&
      counted === asked.quota &&
      taken === asked.quota &&
      nodes.every(({ fault }) => fault === undefined) &&
      statuses.every((status) => status === 0),
  )
}

function makeCapped() {
  const capped = nodes[0].command('workspace', 'create', 'Capped', '--email', 'capped@sink.test')
  nodes[0].command('workspace', 'set-plan', capped.workspace_id, 'capped')
  nodes[0].command('domain', 'add', 'capped.test', '--force', '--workspace', capped.workspace_id)
  return capped
}

/** What still waits when all is done, or when `seconds` are over. */
async function drained(seconds) {
  let left = 1
  for (let waited = 0; waited < seconds && left > 0; waited += 2) {
    await sleep(2_000)
    const [{ count }] = await readRows(
      database(),
      `select (select count(*) from queue) + (select count(*) from inbound_emails where status = 'received') as count`,
    )
    left = Number(count)
  }
  return left
}

function finish(isGood) {
  if (isGood) rmSync(folder, { recursive: true, force: true })
  else console.log(`the data is kept in ${folder}`)
  process.exit(isGood ? 0 : 1)
}
