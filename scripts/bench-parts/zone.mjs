// Queries to the service zone answered a second over UDP, beside Knot with a copy of the same zone.
//
// 64 queries are under way at any time, each for another key of one of many registered domains, so that the cache of our
// listener does not help it. Client and servers share the machine.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { uuidv7 } from '../../dist/src/base/platform/ids.js'
import { databaseFile, openDatabase } from '../../dist/src/base/storage/open.js'
import { keyTargetOf } from '../../dist/src/workspaces/domains/verification/dns-records.js'
import { compare } from './compare.mjs'
import { freePort, watchTree } from './processes.mjs'

const program = resolve('dist/src/main.js')
const ZONE = 'mail.bench.test'
const UNDER_WAY = 64

export async function measureZone({ folder, domains, messages, rounds }) {
  const home = mkdtempSync(join(folder, 'zone-'))
  const children = []
  try {
    const [port, knotPort] = [await freePort(), await freePort()]
    const names = await fill(home, domains)
    const ours = await started(children, daemon(home, port, knotPort), 'serving')
    const copied = performance.now()
    const knot = await started(children, secondary(home, port, knotPort), 'zone updated')
    const seconds = ((performance.now() - copied) / 1000).toFixed(1)
    console.log(`\nKnot has started and copied ${names.length} keys after ${seconds} s`)
    const side = (name, pid, at) => ({ name, measure: () => ask(names, pid, at, messages) })
    const sides = [side('Posthorn', ours, port), side('Knot', knot, knotPort)]
    return [await compare(`keys of ${domains} domains over UDP`, sides, rounds)]
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true })
  }
}

/** The names of all keys. A key is random text of the size of a real one: generating real ones would take an hour. */
async function fill(home, domains) {
  mkdirSync(join(home, 'data'))
  const database = await openDatabase({ file: databaseFile(join(home, 'data')) })
  const names = []
  for (let from = 0; from < domains; from += 500) {
    const writes = []
    for (let n = from; n < Math.min(from + 500, domains); n += 1) {
      const id = uuidv7(Date.now())
      writes.push(row('domains', { ...domainOf(id), domain: `d${n}.test` }))
      for (const selector of ['dkim1', 'dkim2']) {
        writes.push(row('dkim_keys', { ...keyOf(selector), domain: `d${n}.test` }))
        names.push(keyTargetOf({ id }, selector, ZONE))
      }
    }
    await database.commit(writes)
  }
  await database.close()
  return names
}

function domainOf(id) {
  const flags = { forced: 0, inbound: 0, track_opens: 0, track_clicks: 0 }
  return { id, workspace_id: 'ws_1', status: 'pending', ...flags, created_at: 1 }
}

function keyOf(selector) {
  const record = `v=DKIM1; k=rsa; p=${randomBytes(294).toString('base64')}`
  const rest = { private_key: '', signing: selector === 'dkim1' ? 1 : 0, created_at: 1 }
  return { id: uuidv7(Date.now()), workspace_id: 'ws_1', selector, public_record: record, ...rest }
}

function row(table, values) {
  const names = Object.keys(values)
  const sql = `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`
  return { sql, parameters: Object.values(values) }
}

function daemon(home, port, knotPort) {
  const file = join(home, 'posthorn.toml')
  const settings = `[service]
hostname = "${ZONE}"
data_dir = ${JSON.stringify(join(home, 'data'))}
public_addresses = ["192.0.2.1"]
[api]
listen = []
[submission]
listen = []
listen_tls = []
[inbound]
listen = []
[dns]
zone_listen = ["127.0.0.1:${port}"]
nameservers = ["ns.bench.test"]
secondaries = ["127.0.0.1"]
notify = ["127.0.0.1:${knotPort}"]
`
  writeFileSync(file, settings)
  const flags = process.env['BENCH_NODE_FLAGS']?.split(' ') ?? []
  return [process.execPath, ...flags, program, 'serve', '--config', file]
}

function secondary(home, port, knotPort) {
  const file = join(home, 'knot.conf')
  const settings = `server:
    rundir: ${home}
    listen: 127.0.0.1@${knotPort}
database:
    storage: ${home}
log:
  - target: stdout
    any: info
remote:
  - id: primary
    address: 127.0.0.1@${port}
zone:
  - domain: ${ZONE}
    master: primary
    file: ${join(home, 'copy.zone')}
`
  writeFileSync(file, settings)
  return ['/usr/sbin/knotd', '-c', file]
}

/** Its process id, once it has printed `words`. */
async function started(children, [name, ...rest], words) {
  const child = spawn(name, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${name} ended`)
  })
  const said = new Promise((done) => {
    createInterface({ input: child.stdout }).on('line', (line) => line.includes(words) && done(child.pid))
  })
  return Promise.race([said, ended])
}

/** A lost or wrong response ends the measurement. */
async function ask(names, pid, port, messages) {
  const questions = names.map(questionFor)
  const first = Math.floor(Math.random() * names.length)
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const tree = watchTree([pid])
  const begun = performance.now()
  let [sent, got] = [0, 0]
  const send = () => {
    if (sent < messages) socket.send(questions[(first + sent++) % questions.length])
  }
  await new Promise((done, failed) => {
    let seen = -1
    const watch = setInterval(() => {
      if (seen === got) failed(new Error(`${sent - got} questions were not answered`))
      seen = got
    }, 5000)
    socket.on('message', (reply) => {
      if ((reply.readUInt8(3) & 15) !== 0 || reply.readUInt16BE(6) !== 1) failed(new Error('not the key'))
      got += 1
      if (got === messages) {
        clearInterval(watch)
        done()
      } else send()
    })
    for (let count = 0; count < UNDER_WAY; count += 1) send()
  })
  const seconds = (performance.now() - begun) / 1000
  socket.close()
  return { rate: messages / seconds, messages, ...tree.end() }
}

function questionFor(name) {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]))
  const head = Buffer.of(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1)
  const opt = Buffer.of(0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0)
  return Buffer.concat([head, ...labels, Buffer.of(0, 0, 16, 0, 1), opt])
}
