// The real daemon, with a workspace whose domain sends and receives.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { freePort, listening } from '../bench-parts/processes.mjs'
import { environmentOfUnit } from '../lib/unit-environment.mjs'

const program = resolve('dist/src/main.js')

export async function startDaemon(folder, sink) {
  const [mx, submission, api] = [await freePort(), await freePort(), await freePort()]
  const data = join(folder, 'data')
  const file = join(folder, 'posthorn.toml')
  const settings = (trusted) => `
[service]
hostname = "mail.service.test"
data_dir = ${JSON.stringify(data)}
[api]
listen = ["127.0.0.1:${api}"]
[submission]
listen = ["127.0.0.1:${submission}"]
listen_tls = []
max_size = "35MB"
${trusted}
[inbound]
listen = ["127.0.0.1:${mx}"]
[outbound]
routes = { "sink.test" = "127.0.0.1:${sink}" }
[log]
level = "warn"
`
  writeFileSync(file, settings(''))
  const run = (...words) =>
    JSON.parse(execFileSync(process.execPath, [program, ...words, '--json', '--config', file], { encoding: 'utf8' }))
  const { workspace_id: workspace, api_key: key } = run('setup', '--workspace', 'Load', '--email', 'owner@load.test')
  run('domain', 'add', 'load.test', '--inbound', '--force')
  writeFileSync(file, settings(`[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${workspace}"`))
  const daemon = spawn(process.execPath, [program, 'serve', '--config', file], {
    env: environmentOfUnit(),
    stdio: 'inherit',
  })
  await listening(mx)
  const database = new Database(join(data, 'posthorn.db'), { readonly: true, fileMustExist: true })
  const inbound = database.prepare('select count(*) from inbound_emails where status = ?').pluck()
  return {
    pid: daemon.pid,
    mx: { port: mx, from: 'someone@stranger.test', to: 'inbox@load.test' },
    submission: { port: submission, from: 'app@load.test', to: 'someone@sink.test' },
    api: { port: api, key, ca: join(data, 'tls/cert.pem') },
    processed: () => {
      const failed = inbound.get('failed')
      if (failed > 0) throw new Error(`${failed} messages were not read`)
      return inbound.get('processed')
    },
    stop: async () => {
      database.close()
      daemon.kill('SIGTERM')
      await Promise.race([once(daemon, 'exit'), new Promise((late) => setTimeout(late, 40_000))])
      daemon.kill('SIGKILL')
    },
  }
}
