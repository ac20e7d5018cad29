// The real daemon that a script measures or disturbs: its configuration, its first workspace and its process.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { stringify } from 'smol-toml'
import { freePort } from './processes.mjs'

const unit = new URL('../../systemd/posthorn.service', import.meta.url)

/** Our environment with the variables that the systemd unit sets, so that a daemon runs as an operator runs it. */
export function environmentOfUnit() {
  const lines = readFileSync(unit, 'utf8').match(/(?<=^Environment=).+$/gm) ?? []
  const variables = lines.flatMap((line) => line.split(' ')).map((word) => word.match(/^(\w+)=(.*)$/).slice(1))
  return { ...process.env, ...Object.fromEntries(variables) }
}

/** Settings of `[inbound]` for clients that share one address: the limits are for each address. */
export const manyFromOneAddress = {
  connections_per_minute: 1_000_000,
  messages_per_minute: 1_000_000,
  bytes_per_minute: '1000GB',
}

/** The program of a build. */
export function programOf(build = '.') {
  return resolve(build, 'dist/src/main.js')
}

/** What `posthorn WORDS` prints as JSON. Status 1 is no error where the answer is printed nevertheless, as by verify-data. */
export function runCommand(file, words, { input, build } = {}) {
  try {
    const options = { encoding: 'utf8', input, maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'pipe'] }
    return JSON.parse(execFileSync(process.execPath, [programOf(build), ...words, '--json', '--config', file], options))
  } catch (error) {
    if (error.status === 1 && error.stdout !== '') return JSON.parse(error.stdout)
    throw error
  }
}

/**
 * A workspace with a domain and a key in `folder`. `settings`: sections of the configuration, or a function of the ports that
 * returns them; they are added to those below. `receives`: the domain takes mail, and the MX listener is open.
 * `storage`: the URL of an empty database of PostgreSQL; else SQLite is used.
 * `build`: the folder of the build to run. Loopback needs no key to submit mail.
 */
export async function setUpDaemon({ folder, domain, settings = {}, receives = false, build, storage = '' }) {
  const ports = {}
  for (const name of ['submission', 'tls', 'mx', 'api', 'metrics', 'zone']) {
    do ports[name] = await freePort()
    while (new Set(Object.values(ports)).size < Object.keys(ports).length)
  }
  const file = join(folder, 'posthorn.toml')
  const own = typeof settings === 'function' ? settings(ports) : settings
  const data = own.service?.data_dir ?? join(folder, 'data')
  const write = (trusted) =>
    writeFileSync(
      file,
      stringify(merge(baseSettings({ data, domain, ports, receives, storage }), own, { submission: trusted })),
    )
  const command = (...words) => runCommand(file, words, { build })
  write({})
  const made = command('setup', '--workspace', 'Measured', '--email', `owner@${domain}`)
  command('domain', 'add', domain, ...(receives ? ['--inbound'] : []), '--force')
  write({ trusted: [{ network: '127.0.0.0/8', workspace: made.workspace_id }] })
  return {
    ...{ file, data, ports, command, workspaceId: made.workspace_id, key: made.api_key },
    ...{ database: storage === '' ? join(data, 'posthorn.db') : storage, ca: join(data, 'tls/cert.pem') },
    /** `flags`: of Node.js; the rest: options of spawn. */
    start: ({ flags = [], ...options } = {}) => {
      const words = [...flags, programOf(build), 'serve', '--config', file]
      return spawn(process.execPath, words, { env: environmentOfUnit(), stdio: 'inherit', ...options })
    },
  }
}

function baseSettings({ data, domain, ports, receives, storage }) {
  const at = (port) => [`127.0.0.1:${port}`]
  return {
    service: { hostname: `mail.${domain}`, data_dir: data },
    ...(storage === '' ? {} : { storage: { url: storage } }),
    api: { listen: at(ports.api) },
    submission: { listen: at(ports.submission), listen_tls: [] },
    inbound: { listen: receives ? at(ports.mx) : [] },
    log: { level: 'warn' },
  }
}

function merge(...layers) {
  const merged = {}
  for (const layer of layers) {
    for (const [section, values] of Object.entries(layer)) merged[section] = { ...merged[section], ...values }
  }
  return merged
}

/** Ends it in order, or after 40 seconds at once. */
export async function stopDaemon(daemon) {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return
  const ended = once(daemon, 'exit')
  daemon.kill('SIGTERM')
  const late = setTimeout(() => daemon.kill('SIGKILL'), 40_000)
  await ended
  clearTimeout(late)
}
