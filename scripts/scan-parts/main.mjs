/**
 * Scans all listeners of a daemon and compares the findings with `explained.mjs`. Exit status 1: a finding is not
 * explained, an explanation is out of date, a tool did not work, or the daemon ended.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { domainHost, hostname, ports, startDaemon } from './daemon.mjs'
import { explained } from './explained.mjs'
import { scanHeaders } from './headers.mjs'
import { scanWithNmap } from './nmap.mjs'
import { scanWithSslscan, scanWithTestssl } from './tls-tools.mjs'

const { values } = parseArgs({ options: { only: { type: 'string' }, keep: { type: 'boolean' } } })
const tools = values.only?.split(',') ?? ['nmap', 'sslscan', 'testssl', 'headers']

const tlsListeners = [
  { listener: 'mx', port: ports.mx, starttls: true },
  { listener: 'submission', port: ports.submission, starttls: true },
  { listener: 'submissions', port: ports.submissions, starttls: false },
  { listener: 'api', port: ports.api, starttls: false, path: '/ui/' },
]

const folder = mkdtempSync(join(tmpdir(), 'posthorn-scan-'))
const used = new Set()
let failures = 0

const daemon = await startDaemon(folder)
try {
  console.log(`config/production.toml on loopback, node ${process.version}, OpenSSL ${process.versions.openssl}\n`)
  await scanAll()
  if (!daemon.isRunning()) fail('the daemon ended during the scan')
  for (const line of faultsOf(daemon.log)) fail(`the daemon logged: ${line}`)
} finally {
  await daemon.stop()
  if (values.keep === true) console.log(`\nkept: ${folder}`)
  else rmSync(folder, { recursive: true, force: true })
}
if (values.only === undefined) {
  for (const one of explained)
    if (!used.has(one) && one.rare !== true) fail(`explained and not found any more: ${one.listener}, ${one.id}`)
}
console.log(`\n${failures === 0 ? 'clean' : `${failures} findings without an explanation`}`)
process.exitCode = failures === 0 ? 0 : 1

async function scanAll() {
  const certificate = { name: hostname, ca: daemon.ca }
  for (const kind of ['api', 'challenges', 'metrics']) await scan('headers', kind, () => scanHeaders(kind, ports[kind]))
  for (const target of tlsListeners) {
    for (const name of [hostname, domainHost]) {
      await scan('sslscan', target.listener, () => scanWithSslscan(target, name, folder))
    }
    await scan('testssl', target.listener, () => scanWithTestssl(target, certificate, folder))
  }
  // Last, because it guesses passwords: the daemon then refuses AUTH from its address for a while.
  for (const [listener, port] of Object.entries(ports)) await scan('nmap', listener, () => scanWithNmap(port, folder))
}

async function scan(tool, listener, run) {
  if (!tools.includes(tool)) return
  const begun = performance.now()
  const findings = await run()
  const seconds = Math.round((performance.now() - begun) / 1_000)
  console.log(
    `${tool.padEnd(8)} ${listener.padEnd(12)} port ${String(ports[listener]).padEnd(5)} ${findings.length} findings, ${seconds} s`,
  )
  for (const finding of findings) report(listener, finding)
}

function report(listener, { id, text }) {
  const reason = explained.find((one) => one.listener.test(listener) && one.id === id && one.text.test(text))
  if (reason === undefined) return fail(`${id}: ${text}`)
  used.add(reason)
  console.log(`  explained: ${id}: ${text.slice(0, 160)}`)
}

function fail(text) {
  failures += 1
  console.log(`  FINDING: ${text}`)
}

/** Lines at level error or fatal. */
function faultsOf(log) {
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => /"level":[56]0/.test(line) || (line !== '' && !line.startsWith('{')))
    .slice(0, 5)
}
