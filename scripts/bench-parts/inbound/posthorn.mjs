// Posthorn as an MX: the real daemon, with authentication and the complete spam score.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { environmentOfUnit } from '../../lib/unit-environment.mjs'
import { boundTo, freePort, listening } from '../processes.mjs'
import { RECIPIENT, trainingLetters } from './messages.mjs'

const program = resolve('dist/src/main.js')
/** Messages of each kind: the classifier gives points from fifty on. */
const TRAINING = 100

export const inboundPosthorn = { name: 'Posthorn', start }

/** `cores`: to which the daemon and its children are bound; absent: all. */
async function start({ folder, dns, cores }) {
  const data = mkdtempSync(join(folder, 'posthorn-'))
  const port = await freePort()
  const file = join(data, 'posthorn.toml')
  writeFileSync(file, await settings({ data, port, dns }))
  const run = (...words) =>
    execFileSync(process.execPath, [program, ...words, '--json', '--config', file], { encoding: 'utf8' })
  run('setup', '--workspace', 'Bench', '--email', 'owner@bench.test')
  const [, domain] = RECIPIENT.split('@')
  run('domain', 'add', domain, '--inbound', '--force')
  train(run, join(data, 'training'))
  const flags = process.env['BENCH_NODE_FLAGS']?.split(' ') ?? []
  const [command, ...words] = [...boundTo(cores), process.execPath, ...flags, program, 'serve', '--config', file]
  const daemon = spawn(command, words, {
    env: environmentOfUnit(),
    stdio: 'inherit',
  })
  await listening(port)
  const database = new Database(join(data, 'posthorn.db'), { readonly: true, fileMustExist: true })
  const settled = database.prepare("SELECT count(*) FROM inbound_emails WHERE status <> 'received'").pluck()
  return {
    port,
    pids: () => [daemon.pid],
    filed: () => settled.get(),
    verify: () => verify(database),
    stop: async () => {
      database.close()
      daemon.kill('SIGTERM')
      await Promise.race([once(daemon, 'exit'), new Promise((late) => setTimeout(late, 40_000))])
      daemon.kill('SIGKILL')
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/** The rate limits are for one client address; here all clients share one. */
async function settings({ data, port, dns }) {
  return `[service]
hostname = "mail.home.test"
data_dir = ${JSON.stringify(data)}
[api]
listen = ["127.0.0.1:${await freePort()}"]
[submission]
listen = []
listen_tls = []
[inbound]
listen = ["127.0.0.1:${port}"]
connections_per_minute = 1000000
messages_per_minute = 1000000
bytes_per_minute = "1000GB"
[dns]
servers = ["${dns}"]
[log]
level = "warn"
`
}

function train(run, folder) {
  for (const [verdict, seed] of [
    ['spam', 10_000],
    ['ham', 20_000],
  ]) {
    const letters = join(folder, verdict)
    mkdirSync(letters, { recursive: true })
    for (const [at, text] of trainingLetters(TRAINING, seed).entries()) writeFileSync(join(letters, `${at}.eml`), text)
    run('spam', 'learn', letters, '--as', verdict)
  }
}

/** Makes sure that this side does all of its work. */
function verify(database) {
  const found = database
    .prepare('SELECT spf_result, dkim_result, dmarc_result, status, spam_report FROM inbound_emails')
    .get()
  const { spf_result: spf, dkim_result: dkim, dmarc_result: dmarc, status, spam_report: report } = found
  const good = [spf, dkim, dmarc].every((word) => word === 'pass') && status === 'processed' && report !== null
  if (!good) throw new Error(`Posthorn filed ${JSON.stringify(found)}`)
}
