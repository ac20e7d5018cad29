/** What happens to certificates in time: renewal, failures, a lost account, a kill, an expiry that comes near. */
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import t from 'tap'
import { AccountRows } from '../../src/operations/certificates/account-rows.js'
import { setOperatorWorkspace } from '../../src/workspaces/accounts/workspace/operator-workspace.js'
import { writeConfiguration } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { skipWithoutPebble, startPebble } from '../helpers/programs/pebble.js'
import { waitUntil } from '../helpers/wait-until.js'
import { acmeDaemon, acmeSettings, apiPort, findView, HOST, readServed, waitUntilIssued } from './support/acme.js'
import { runInProcess, serve } from './support/program.js'

const options = { skip: skipWithoutPebble(), timeout: 120_000 }
const HOUR = 3_600_000
const DAY = 24 * HOUR
const SIX_DAYS = 6 * 86_400
const alone = { [HOST]: { addresses: ['127.0.0.1'] } }
t.jobs = 2

t.test('a certificate of six days is renewed at two thirds of its lifetime', { ...options }, async (t) => {
  const pebble = await startPebble(t, { lifetime: SIX_DAYS })
  const app = await acmeDaemon(t, pebble, { zone: alone })
  await waitUntilIssued(app, [HOST])
  const serial = async (): Promise<string> => (await readServed(apiPort(app), HOST)).serialNumber
  const first = await serial()
  app.advance(3.5 * DAY)
  await app.cli('domain', 'list')
  t.equal(findView(app, HOST)?.state, 'valid')
  app.advance(0.7 * DAY)
  t.equal(findView(app, HOST)?.state, 'renewal-due')
  await app.cli('key', 'create', '--workspace', app.workspaceId, '--name', 'wakes the daemon')
  await waitUntil('the new certificate', async () => (await serial()) !== first, 60_000)
  t.equal(pebble.listLines('orders in the db').length, 2)
})

t.test(
  'a name that fails waits, keeps no other from its certificate, and can be asked for',
  { ...options },
  async (t) => {
    const pebble = await startPebble(t)
    await pebble.pointTo(HOST, '127.0.0.9')
    const app = await acmeDaemon(t, pebble)
    await waitUntilIssued(app, ['mx.mail.service.test', 'posthorn.a.test'])
    const failed = await waitUntil('the failure', () => {
      const view = findView(app, HOST)
      return view?.last_fault !== null && view
    })
    t.match(failed, { state: 'none', until: null, last_fault: /127\.0\.0\.9.*connection refused/s })
    const wait = Date.parse(failed.next_try ?? '') - app.now()
    t.ok(wait > 14 * 60_000 && wait < 17 * 60_000, `${wait}`)

    const other = 'posthorn.other.test'
    await waitUntil('the next failure', () => findView(app, other)?.last_fault)
    const checked = await app.cli('doctor', 'acme', 'tls', '--json')
    t.match(checked.json(), {
      findings: [
        { check: 'tls', state: 'ok' },
        { check: 'tls', state: 'ok' },
        { check: 'tls', state: 'warn', text: /until the ACME server has issued the first one/ },
        { check: 'acme', subject: HOST, state: 'fail', text: /connection refused/, remedy: [/^nc -vz /, /renew/] },
        { check: 'acme', subject: 'mx.mail.service.test', state: 'ok', text: 'the certificate is valid for 89 days' },
        { check: 'acme', subject: other, state: 'warn', remedy: [`${other}. CNAME mail.service.test.`, /renew/] },
        { check: 'acme', subject: 'mail hosts', state: 'ok', text: /^1 of 2 names have/ },
      ],
    })

    const listed = await app.cli('certificates', '--json')
    t.match(listed.json(), { data: [{ name: HOST, state: 'none', last_fault: failed.last_fault }, {}, {}, {}] })
    t.match((await app.cli('certificates')).out, /^NAME +STATE +UNTIL +NEXT TRY +LAST FAULT\n/)
    t.match(await app.cli('certificates', 'renew', 'else.test'), {
      status: 1,
      err: /else\.test is not among the names/,
    })

    const again = await app.cli('certificates', 'renew', HOST)
    t.match(again, { status: 1, out: /connection refused/ }, 'an operator need not wait')
    const second = Date.parse(findView(app, HOST)?.next_try ?? '') - app.now()
    t.ok(second > 14 * 60_000 && second < 17 * 60_000, `${second}`)
    await pebble.pointTo(HOST, '127.0.0.1')
    t.match(await app.cli('certificates', 'renew', HOST), { status: 0, out: new RegExp(`${HOST} +valid`) })
    t.match(findView(app, HOST), { state: 'valid', last_fault: null })
    t.same(app.errors, [])
  },
)

t.test('a name that the server refuses waits longer each time', { ...options }, async (t) => {
  const pebble = await startPebble(t, { refused: [HOST] })
  const app = await acmeDaemon(t, pebble, { zone: alone })
  const fault = await waitUntil('the refusal', () => findView(app, HOST)?.last_fault)
  t.match(fault, /rejectedIdentifier/)
  for (const minutes of [15, 30, 60]) {
    await app.cli('certificates', 'renew', HOST)
    const wait = (Date.parse(findView(app, HOST)?.next_try ?? '') - app.now()) / 60_000
    t.ok(wait > minutes * 0.95 && wait < minutes * 1.15, `${wait} for ${minutes}`)
  }
})

t.test('an account that the server does not know any more is made again', { ...options }, async (t) => {
  const pebble = await startPebble(t)
  const app = await acmeDaemon(t, pebble, { zone: alone })
  await waitUntilIssued(app, [HOST])
  await pebble.restart()
  const renewed = await app.cli('certificates', 'renew', HOST)
  t.match(renewed, { status: 0 }, renewed.err)
  t.match(app.lines.join(''), 'the ACME account was not accepted and is replaced')
  t.equal((await readServed(apiPort(app), HOST, await pebble.readRoot())).subjectaltname, `DNS:${HOST}`)
})

t.test('an account that was deactivated is replaced by a new one', { ...options }, async (t) => {
  const pebble = await startPebble(t)
  const app = await acmeDaemon(t, pebble, { zone: alone })
  await waitUntilIssued(app, [HOST])
  const accounts = new AccountRows(app.daemon.database)
  const account = await accounts.readAccount(new URL(pebble.directory))
  t.ok(account)
  await pebble.deactivate(account?.key ?? '', account?.url ?? '')
  const renewed = await app.cli('certificates', 'renew', HOST)
  t.match(renewed, { status: 0 }, renewed.err)
  const replaced = await accounts.readAccount(new URL(pebble.directory))
  t.not(replaced?.url, account?.url)
  t.not(replaced?.key, account?.key)
})

t.test('a server that does not answer is no fault of the name', { ...options }, async (t) => {
  const pebble = await startPebble(t)
  pebble.stop()
  const app = await acmeDaemon(t, pebble, { zone: alone })
  const fault = await waitUntil('the fault', () => findView(app, HOST)?.last_fault)
  t.match(fault, /the connection was refused/)
  const wait = Date.parse(findView(app, HOST)?.next_try ?? '') - app.now()
  t.ok(wait > 50_000 && wait < 70_000, `${wait}`)
})

t.test('after SIGKILL in the middle of an order, the order goes on', { ...options }, async (t) => {
  const pebble = await startPebble(t, { slow: true, trusting: true })
  const folder = temporaryFolder(t)
  const settings = {
    ...acmeSettings(pebble),
    dns: { servers: [pebble.dnsAddress] },
    inbound: { listen: [] },
    log: { level: 'info' },
  }
  const { file } = writeConfiguration(folder, { settings })
  const at = { folder, dataDir: join(folder, 'data'), file }
  const first = await serve(t, at)
  const stored = (sql: string): unknown => readValue(join(folder, 'data/posthorn.db'), sql)
  const order = await waitUntil('the order', () => stored('select order_key from acme_names') ?? false, 60_000)
  first.signal('SIGKILL')
  await first.ended
  const second = await serve(t, at)
  await second.waitForLog(({ msg }) => msg === 'a certificate was issued')
  t.equal(pebble.listLines('orders in the db').length, 1, 'it was not ordered again')
  t.equal(stored('select private_key from acme_certificates'), order, 'the key of the first process')
  t.equal((await readServed(second.apiPort, HOST, await pebble.readRoot())).subjectaltname, `DNS:${HOST}`)
  const listed = await runInProcess(at, 'certificates', '--json')
  t.match(JSON.parse(listed.stdout), { data: [{ name: HOST, state: 'valid', days: 89, last_fault: null }] })
})

t.test(
  'a certificate that expires soon is a warning, an event and a notice to the operator',
  { ...options },
  async (t) => {
    const pebble = await startPebble(t)
    const app = await acmeDaemon(t, pebble, { zone: alone })
    await waitUntilIssued(app, [HOST])
    await app.daemon.database.commit([setOperatorWorkspace(app.workspaceId)])
    await app.stop()
    pebble.stop()
    const later = await acmeDaemon(t, pebble, { zone: alone, folder: app.folder, ahead: 80 * DAY })
    await waitUntil('the warning', () => later.lines.some((line) => line.includes('a certificate expires soon')))
    const events = await waitUntil('the event', async () => {
      const found = await later.rows<{ data: string }>(`select data from events where type = 'certificate.expiring'`)
      return found.length > 0 && found
    })
    t.equal(events.length, 1)
    t.match(JSON.parse(events[0]?.data ?? ''), { name: HOST, expires_at: /Z$/ })
    const mails = await later.rows<{ subject: string }>(`select subject from emails where workspace_id = 'service'`)
    t.match(mails, [{ subject: new RegExp(`^The certificate of ${HOST} expires on `) }])
  },
)

/** Undefined if there is no database yet, or no row. */
function readValue(file: string, sql: string): unknown {
  try {
    const db = new SQLite(file, { readonly: true })
    try {
      return db.prepare(sql).pluck().get()
    } finally {
      db.close()
    }
  } catch {
    return undefined
  }
}
