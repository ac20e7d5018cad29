/**
 * The real daemon with config/production.toml, all listeners open, a workspace with a key, and a domain that sends and
 * receives. The certificates are in the database, as those from ACME are, so that listeners choose one by the name that a client
 * asks for.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { databaseFile, openStore } from '../../dist/src/base/storage/open.js'
import { storeCertificate, toCertificateRow } from '../../dist/src/operations/certificates/certificate-rows.js'
import { environmentOfUnit, programOf, runCommand } from '../lib/daemon.mjs'
import { createAuthority } from './certificate.mjs'

export const hostname = 'mail.example.test'
/** The mail host of a verified domain, with a certificate of its own. */
export const domainHost = 'posthorn.example.test'

/** The ports of config/production.toml, and those of the listeners that it leaves closed. */
export const ports = { mx: 25, submission: 587, submissions: 465, api: 8443, metrics: 9465, challenges: 80, zone: 53 }

/** What a scan needs and production.toml leaves to the operator; a scan opens more connections than a sender may. */
const changes = [
  ['# hostname = "mail.example.net"', `hostname = "${hostname}"`],
  ['# public_url = "https://mail.example.net:8443"', `public_url = "https://${hostname}:8443"`],
  ['[log]', '[metrics]\nlisten = ["127.0.0.1:9465"]\n\n[log]'],
  ['listen = ["0.0.0.0:25"]', 'listen = ["0.0.0.0:25"]\nconnections_per_minute = 100000'],
  [
    '# [tls.acme]\n# enabled = true\n# email = "postmaster@example.net"',
    '[tls.acme]\nenabled = true\ndirectory = "https://127.0.0.1:9/directory"',
  ],
  [
    '# [dns]\n# zone_listen = ["192.0.2.1:53"]\n# nameservers = ["ns1.mail.example.net"]',
    `[dns]\nservers = ["127.0.0.1:9"]\nzone_listen = ["127.0.0.1:53"]\nnameservers = ["ns1.${hostname}"]`,
  ],
]

/** Resolves when every listener accepts connections. */
export async function startDaemon(folder) {
  const data = join(folder, 'data')
  const file = join(folder, 'posthorn.toml')
  writeFileSync(file, productionConfiguration(data), { mode: 0o640 })
  const { ca, issue } = createAuthority(folder)
  const run = (...words) => runCommand(file, words)
  const { api_key: apiKey } = run('setup', '--workspace', 'Scan', '--email', 'owner@example.test')
  run('domain', 'add', 'example.test', '--inbound', '--force')
  await storeCertificates(data, [hostname, domainHost], issue)
  const log = join(folder, 'posthorn.log')
  const daemon = spawn(
    '/bin/sh',
    ['-c', `exec "$0" "$@" >${log} 2>&1`, process.execPath, programOf(), 'serve', '--config', file],
    {
      env: environmentOfUnit(),
      stdio: 'ignore',
    },
  )
  const stop = async () => {
    if (daemon.exitCode !== null) return
    daemon.kill('SIGTERM')
    await once(daemon, 'exit')
  }
  for (const port of Object.values(ports)) await listening(port, daemon, log)
  return { ca, apiKey, log, isRunning: () => daemon.exitCode === null, stop }
}

async function storeCertificates(data, names, issue) {
  const store = await openStore({ file: databaseFile(data) })
  await store.commit(names.map((name) => storeCertificate(toCertificateRow(name, issue(name)))))
  await store.close()
}

function productionConfiguration(data) {
  let text = readFileSync('config/production.toml', 'utf8').replace('/var/lib/posthorn', data)
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`config/production.toml has no longer: ${from}`)
    text = text.replace(from, to)
  }
  return text
}

async function listening(port, daemon, log) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (daemon.exitCode !== null) throw new Error(`the daemon ended: ${readFileSync(log, 'utf8').slice(-2_000)}`)
    if (await accepts(port)) return
    await new Promise((next) => setTimeout(next, 100))
  }
  throw new Error(`nothing listens on port ${port}`)
}

function accepts(port) {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => done(true)).once('error', () => done(false))
    socket.once('connect', () => socket.destroy())
  })
}
