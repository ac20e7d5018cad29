// Posthorn as one side of a comparison: the real daemon, with a DKIM key and no special mode.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { environmentOfUnit } from '../lib/unit-environment.mjs'
import { freePort, listening } from './processes.mjs'

const program = resolve('dist/src/main.js')

export const posthorn = { name: 'Posthorn', start }

/**
 * `routes`: more domains with the address and port of their host. `settings`: more of
 * the configuration. `prepare`: changes the database before the daemon opens it.
 */
async function start({ folder, sink, deliver, routes = {}, settings: more = '', prepare }) {
  const data = mkdtempSync(join(folder, 'posthorn-'))
  const port = await freePort()
  const apiPort = await freePort()
  const table = Object.entries({ 'sink.test': `127.0.0.1:${sink}`, ...routes })
    .map(([domain, hop]) => `"${domain}" = "${hop}"`)
    .join(', ')
  const file = join(data, 'posthorn.toml')
  const settings = (trusted) => `
[service]
hostname = "mail.bench.test"
data_dir = ${JSON.stringify(data)}
[api]
listen = ["127.0.0.1:${apiPort}"]
[submission]
listen = ["127.0.0.1:${port}"]
listen_tls = []
[inbound]
listen = []
${trusted}
[outbound]
routes = { ${table} }
max_connections = ${deliver ? 100 : 1}
max_connections_per_host = 20
${more}
[log]
level = "warn"
`
  writeFileSync(file, settings(''))
  const run = (...words) =>
    JSON.parse(execFileSync(process.execPath, [program, ...words, '--json', '--config', file], { encoding: 'utf8' }))
  const { workspace_id, api_key } = run('setup', '--workspace', 'Bench', '--email', 'owner@bench.test')
  run('domain', 'add', 'bench.test', '--force')
  writeFileSync(file, settings(`[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${workspace_id}"\n`))
  prepare?.({ database: join(data, 'posthorn.db'), workspaceId: workspace_id })
  const flags = process.env['BENCH_NODE_FLAGS']?.split(' ') ?? []
  const launch = () =>
    spawn(process.execPath, [...flags, program, 'serve', '--config', file], {
      env: environmentOfUnit(),
      stdio: 'inherit',
    })
  let daemon = launch()
  await listening(port)
  return {
    port,
    config: file,
    api: { port: apiPort, key: api_key, ca: join(data, 'tls/cert.pem') },
    pids: () => [daemon.pid],
    /** Ends the daemon by a signal and starts it again, with the same data; resolves when the new process exists. */
    restart: async (signal) => {
      daemon.kill(signal)
      await once(daemon, 'exit')
      daemon = launch()
    },
    stop: async () => {
      daemon.kill('SIGTERM')
      await Promise.race([once(daemon, 'exit'), new Promise((late) => setTimeout(late, 40_000))])
      daemon.kill('SIGKILL')
      rmSync(data, { recursive: true, force: true })
    },
  }
}
