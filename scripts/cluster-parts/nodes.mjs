// Three daemons on one database. Each has a data folder, ports, a source address and a way to the database of its own, which can
// be cut. The clock of the last one is ten minutes ahead.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'smol-toml'
import { openRelay } from '../crash-parts/relay.mjs'
import { environmentOfUnit, manyFromOneAddress, programOf, runCommand } from '../lib/daemon.mjs'
import { createClient } from '../lib/https-client.mjs'
import { freePort } from '../lib/processes.mjs'

const NAMES = ['one', 'two', 'three']
const CLOCK_OFFSET = 600_000
const shiftClock = `const now = Date.now.bind(Date); Date.now = () => now() + ${CLOCK_OFFSET}`
const PORTS = ['submission', 'mx', 'api']

/** `servers`: the ports of the database's hosts. `domain` is that of the first workspace. */
export async function openNodes(folder, { servers, database, domain, sinkPort, plans }) {
  const nodes = []
  for (const [at, name] of NAMES.entries()) nodes.push(await Node.open(folder, name, { at, servers, database }))
  const settings = { domain, sinkPort, plans }
  for (const node of nodes) node.write(settings)
  const made = nodes[0].command('setup', '--workspace', 'Cluster', '--email', 'owner@sink.test')
  nodes[0].command('domain', 'add', domain, '--inbound', '--force')
  for (const node of nodes) node.write({ ...settings, workspace: made.workspace_id })
  return { nodes, workspaceId: made.workspace_id, key: made.api_key }
}

class Node {
  #process = null
  #relays
  #ports
  #folder
  #at
  #url
  /** From when until when it was disturbed: killed, stopped or cut off. */
  troubles = []

  static async open(folder, name, { at, servers, database }) {
    const ports = {}
    for (const use of PORTS) ports[use] = await freePort()
    const relays = []
    for (const port of servers) relays.push(await openRelay(port))
    const own = join(folder, `node-${name}`)
    mkdirSync(own)
    return new Node(name, { at, folder: own, ports, relays, database })
  }

  constructor(name, { at, folder, ports, relays, database }) {
    this.name = name
    this.#at = at
    this.#folder = folder
    this.#ports = ports
    this.#relays = relays
    const hosts = relays.map(({ host }) => host).join(',')
    this.#url = `postgres://postgres@${hosts}/${database}?target_session_attrs=read-write`
  }

  get ports() {
    return this.#ports
  }

  /** Remote hosts see mail of the node come from there. */
  get address() {
    return `127.0.0.${11 + this.#at}`
  }

  get file() {
    return join(this.#folder, 'posthorn.toml')
  }

  get isRunning() {
    return this.#process !== null
  }

  get clockOffset() {
    return this.#at === NAMES.length - 1 ? CLOCK_OFFSET : 0
  }

  command(...words) {
    return runCommand(this.file, words)
  }

  write({ domain, sinkPort, plans, workspace }) {
    const at = (port) => [`127.0.0.1:${port}`]
    const { submission, mx, api } = this.#ports
    const settings = {
      service: {
        hostname: `mail.${domain}`,
        data_dir: join(this.#folder, 'data'),
        public_url: `https://127.0.0.1:${api}`,
      },
      storage: { url: this.#url },
      node: { name: this.name },
      api: { listen: at(api) },
      submission: {
        listen: at(submission),
        listen_tls: [],
        ...(workspace === undefined ? {} : { trusted: [{ network: '127.0.0.0/8', workspace }] }),
      },
      inbound: { listen: at(mx), ...manyFromOneAddress },
      dns: { servers: ['127.0.0.1:9'] },
      webhooks: { allowed_private_networks: ['127.0.0.0/8'] },
      outbound: {
        routes: { 'sink.test': `127.0.0.1:${sinkPort}` },
        retry_schedule: ['2s', '4s', '8s'],
        sources: [{ address: this.address }],
      },
      limits: { plans },
      log: { level: 'warn' },
    }
    writeFileSync(this.file, stringify(settings))
  }

  async start() {
    const log = openSync(join(this.#folder, 'daemon.log'), 'a')
    const flags = this.clockOffset === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(shiftClock)}`]
    const child = spawn(process.execPath, [...flags, programOf(), 'serve', '--config', this.file], {
      env: environmentOfUnit(),
      stdio: ['ignore', log, log],
    })
    this.#process = child
    child.once('exit', (status, signal) => {
      if (this.#process === child) this.#process = null
      if (signal !== 'SIGKILL' && status !== 0) this.fault = `ended with ${status ?? signal}`
    })
    await this.ready()
  }

  /** Resolves when it takes new work, or rejects after two minutes. */
  async ready() {
    const client = createClient({ port: this.#ports.api, sockets: 1, wait: 2_000 })
    try {
      for (let tries = 0; tries < 1_200; tries += 1) {
        if ((await client.ask('GET', '/readyz'))?.status === 200) return
        if (!this.isRunning) break
        await sleep(100)
      }
    } finally {
      client.close()
    }
    throw new Error(`node ${this.name} is not ready: ${this.fault ?? 'it runs'}`)
  }

  async kill() {
    await this.#end('SIGKILL')
  }

  async stop() {
    const child = this.#process
    await this.#end('SIGTERM')
    return child?.exitCode
  }

  endAtOnce() {
    this.#process?.kill('SIGKILL')
  }

  freeze() {
    this.#process.kill('SIGSTOP')
  }

  thaw() {
    this.#process?.kill('SIGCONT')
  }

  async cut(isCut) {
    for (const relay of this.#relays) await relay.cut(isCut)
  }

  async #end(signal) {
    const child = this.#process
    if (child === null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}
