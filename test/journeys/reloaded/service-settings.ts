/** Observes the settings of webhooks, SMS, the daily checks, what is kept how long, and the log. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { wireDoctor } from '../../../src/operations/daemon/doctor.js'
import { Housekeeping } from '../../../src/operations/daemon/housekeeping.js'
import { clockChecks } from '../../../src/operations/doctor/checks/clock-checks.js'
import { readLastRun } from '../../../src/operations/doctor/findings-store.js'
import { openCheckDeps } from '../../../src/operations/doctor/checks/open-deps.js'
import { runChecks } from '../../../src/operations/doctor/run-checks.js'
import { createDialer } from '../../../src/base/platform/dialer.js'
import { createLinkId } from '../../../src/outbound/tracking/link-id.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { zoneResolver } from '../../helpers/dns/zone-resolver.js'
import { givePassword, openBrowser } from '../../helpers/http/browser-client.js'
import { webhookReceiver } from '../../helpers/http/webhook-receiver.js'
import { waitUntil } from '../../helpers/wait-until.js'
import type { MxClients } from './mx-clients.js'
import type { Observations, ReloadedDaemon } from './observation.js'
import type { RecordedRequest } from './recorder.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const MINUTE = 60_000

type Gateway = { readonly url: string; readonly requests: readonly RecordedRequest[] }

export async function serviceSettings(here: ReloadedDaemon, mx: MxClients, gateway: Gateway): Promise<Observations> {
  return {
    ...(await webhookSettings(here)),
    ...smsLimits(here),
    ...gatewaySettings(here, gateway),
    ...doctorSettings(here),
    ...(await retentionSettings(here)),
    ...logSettings(here, mx),
  }
}

async function webhookSettings({ app, next, t }: ReloadedDaemon): Promise<Observations> {
  const receiver = await webhookReceiver(t)
  receiver.answer((response, { path }) => {
    if (!path.startsWith('/silent')) response.writeHead(500).end()
  })
  const private_ = { 'webhooks.allowed_private_networks': ['127.0.0.0/8'] }
  const subscribe = (path: string): ReturnType<typeof app.rest> =>
    app.rest('POST', '/v1/webhooks', { body: { url: `http://127.0.0.1:${receiver.port}${path}`, events: ['email.queued'] } })
  /** Its first delivery, once it was attempted so often. */
  const begin = async (path: string) => {
    const hook = (await subscribe(path)).json<{ readonly id: string }>().id
    await app.submitAccepted({ to: [`n${next()}@d.test`] })
    type Row = { readonly attempts: number; readonly next_attempt_at: number }
    return () => app.rows<Row>('select attempts, next_attempt_at from webhook_deliveries where webhook_id = ?', hook)[0]
  }
  return {
    'webhooks.allowed_private_networks': {
      ...{ from: [], to: ['127.0.0.0/8'], sees: [400, 201], look: async () => (await subscribe('/checked')).status },
    },
    'webhooks.retry_schedule': {
      ...{ from: ['5m'], to: ['2h'], beside: private_, sees: [0, 2] },
      look: async () => {
        const find = await begin('/failing')
        const { next_attempt_at: at } = await waitUntil('it has failed', () => find()?.attempts === 1 && find()) || { next_attempt_at: 0 }
        return Math.round((at - app.now()) / HOUR)
      },
    },
    'webhooks.timeout': {
      ...{ from: '5m', to: '1s', beside: private_ },
      open: async () => {
        const path = `/silent${next()}`
        const find = await begin(path)
        await waitUntil('it is asked', () => receiver.requests.some((request) => request.path === path))
        return {
          ended: () => waitUntil('it was given up', () => find()?.attempts === 1),
          goOn: async () => {
            if ((find()?.attempts ?? 0) > 0) throw new Error('it was given up')
          },
        }
      },
    },
  }
}

function smsLimits(here: ReloadedDaemon): Observations {
  const { app } = here
  /** Numbers of a range differ in their last four digits, and ranges of a prefix in those before. */
  const newRange = (): string => `+4915${String(10_000 + here.next()).padStart(5, '0')}`
  const send = async (phone: string): Promise<number> =>
    (await app.rest('POST', '/v1/sms/verify/send', { body: { phone } })).status
  /** The answer to the second of two. */
  const sendTwo = async (range: string, ends: readonly [string, string] = ['1111', '2222']): Promise<number> => {
    await send(range + ends[0])
    return send(range + ends[1])
  }
  const limit = (name: string, from: number, look: () => Promise<number>): Observations => ({
    [`sms.limits.${name}`]: { from, to: 1, sees: [200, 429], look },
  })
  return {
    'sms.allowed_countries': { from: ['US'], to: ['DE'], sees: [/^4/, /^200/], look: async () => `${await send(`${newRange()}1111`)}` },
    ...limit('per_phone_per_hour', 5, () => sendTwo(newRange(), ['1111', '1111'])),
    ...limit('per_phone_per_day', 10, () => sendTwo(newRange(), ['1111', '1111'])),
    ...limit('per_range_per_hour', 50, () => sendTwo(newRange())),
    ...limit('per_workspace_per_minute', 10_000, () => sendTwo(newRange())),
    ...limit('per_workspace_per_hour', 10_000, () => sendTwo(newRange())),
    ...limit('per_workspace_per_day', 10_000, () => sendTwo(newRange())),
    'sms.limits.min_verified_percent': {
      ...{ from: 0, to: 100, sees: [200, 429] },
      look: async () => {
        for (let at = 0; at < 20; at += 1) await send(`+1212555${String(1000 + here.next())}`)
        app.advance(6 * MINUTE)
        return send(`+1212555${1000 + here.next()}`)
      },
    },
  }
}

function gatewaySettings(here: ReloadedDaemon, { url, requests }: Gateway): Observations {
  const { app } = here
  const request = async (): Promise<RecordedRequest | undefined> => {
    const phone = `+491520${String(1_000_000 + here.next())}`
    const { status, text } = await app.rest('POST', '/v1/sms/verify/send', { body: { phone } })
    if (status !== 200) throw new Error(text)
    return requests.at(-1)
  }
  const login = async (): Promise<string> =>
    Buffer.from((await request())?.authorization.replace('Basic ', '') ?? '', 'base64').toString()
  const file = (name: string, content: string): string => {
    const path = join(app.folder, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
  const template = { 'sms.http.style': 'template' }
  const [one, two] = ['one', 'two'].map((name) => `{"name":"${name}","to":"{to}","text":"{text}"}`)
  const body = async (): Promise<string | undefined> => (await request())?.body
  return {
    'sms.sender': { from: '+15005550006', to: '+15005550007', sees: [/From=%2B15005550006/, /From=%2B15005550007/], look: body },
    'sms.http.style': { from: 'twilio', to: 'template', sees: [/^To=/, /^\{/], look: body },
    'sms.http.url': { from: `${url}/one`, to: `${url}/two`, sees: ['/one', '/two'], look: async () => (await request())?.path },
    'sms.http.username': { from: 'one', to: 'two', sees: ['one:secret', 'two:secret'], look: login },
    'sms.http.password': { from: 'one', to: 'two', sees: ['AC1:one', 'AC1:two'], look: login },
    'sms.http.password_file': {
      ...{ from: file('one', 'one'), to: file('two', 'two'), sees: ['AC1:one', 'AC1:two'], look: login },
      ...{ beside: { 'sms.http.password': '' }, fills: 'sms.http.password' },
    },
    'sms.http.body_template': { from: one, to: two, sees: [/"one"/, /"two"/], look: body, beside: template },
    'sms.http.body_template_file': {
      ...{ from: file('one.json', one ?? ''), to: file('two.json', two ?? ''), sees: [/"one"/, /"two"/], look: body },
      ...{ beside: template, fills: 'sms.http.body_template' },
    },
  }
}

function doctorSettings(here: ReloadedDaemon): Observations {
  const { app, settings } = here
  /** The subjects of a check that the dashboard runs, with what was found wrong. */
  const check = async (name: string): Promise<string> => {
    await givePassword(app, 'owner@other.test')
    const browser = openBrowser({ rest: app.rest, workspaceId: app.otherWorkspaceId })
    await browser.signIn('owner@other.test')
    type Finding = { readonly check: string; readonly subject: string; readonly text: string }
    const { findings } = (await browser.ask('POST', '/operator/doctor')).json<{ readonly findings: readonly Finding[] }>()
    return findings.filter((found) => found.check === name).map(({ subject, text }) => `${subject}: ${text}`).join('\n')
  }
  const folder = join(app.folder, 'backups')
  mkdirSync(folder)
  writeFileSync(join(folder, 'posthorn.db'), 'a backup')
  const daysAgo = (app.now() - 3 * DAY) / 1000
  utimesSync(join(folder, 'posthorn.db'), daysAgo, daysAgo)
  return {
    'doctor.mx_domains': { from: ['one.test'], to: ['two.test'], sees: [/^one\.test/, /^two\.test/], look: () => check('port25-out') },
    'doctor.block_lists': { from: ['one.test'], to: ['two.test'], sees: [/^one\.test/, /^two\.test/], look: () => check('blocklist') },
    'doctor.backup_folder': { from: '', to: folder, sees: ['', /hours old/], look: () => check('backup') },
    'doctor.backup_max_age': {
      ...{ from: '1d', to: '400d', sees: [/hours old/, ''], look: () => check('backup'), beside: { 'doctor.backup_folder': folder } },
    },
    'doctor.time_url': {
      ...{ from: 'https://one.test/', to: 'https://two.test/', sees: [/one\.test/, /two\.test/] },
      look: async () => {
        // Where the system answers for the clock, no URL is asked.
        const edges = { config: settings(), clock: app.now, read: null, resolver: zoneResolver({}) }
        const found = await runChecks(clockChecks, (signal) => ({ ...openCheckDeps(edges, signal), readClockState: async () => null }))
        return found.map(({ text }) => text).join()
      },
    },
    'doctor.daily': dailySetting(here),
  }
}

/** The timer of the daily checks ticks once a minute. */
function dailySetting({ t, app, settings }: ReloadedDaemon): Observations[string] {
  const { database } = app.daemon
  const doctor = wireDoctor({
    ...{ config: app.config, settings, clock: app.now, log: pino({ level: 'silent' }), database },
    edges: { resolver: zoneResolver({}), dialer: createDialer(), authorities: undefined },
  })
  const timers = mock.method(globalThis, 'setInterval')
  doctor.start()
  const [timer] = timers.mock.calls
  timers.mock.restore()
  t.teardown(() => doctor.stop())
  return {
    ...{ from: false, to: true, sees: ['no run', 'a run'] },
    look: async (phase) => {
      const { at } = readLastRun(database.read)
      const hasRun = (): boolean => readLastRun(database.read).at !== at
      app.advance(2 * DAY)
      timer?.arguments[0]()
      await (phase === 'before' ? sleep(50) : waitUntil('a run', hasRun))
      return hasRun() ? 'a run' : 'no run'
    },
  }
}

/** In a database of its own: the daemon's removes once an hour. */
async function retentionSettings({ t, app, settings }: ReloadedDaemon): Promise<Observations> {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const log = pino({ level: 'silent' })
  const housekeeping = new Housekeeping({ config: app.config, settings, clock: app.now, log, database })
  t.teardown(() => housekeeping.stop())
  const keep = (name: string, table: string, column: string, more: () => object = () => ({})): Observations => ({
    [`retention.${name}`]: {
      ...{ from: '30d', to: '1d', sees: [1, 0] },
      beside: name === 'links' ? { 'retention.messages': '1d' } : {},
      look: async () => {
        const count = (): number => database.read(`select 1 from ${table}`, []).length
        await database.commit([{ sql: `delete from ${table}`, parameters: [] }, row(table, { [column]: app.now() - 10 * DAY, ...more() })])
        await housekeeping.run()
        return count()
      },
    },
  })
  return {
    ...keep('messages', 'raw_messages', 'created_at'),
    ...keep('events', 'events', 'created_at'),
    ...keep('links', 'links', 'created_at', () => ({ id: createLinkId(app.now() - 10 * DAY) })),
    ...keep('audit', 'audit_log', 'at'),
    ...keep('reports', 'domain_reports', 'received_at'),
    ...keep('files', 'cached_files', 'used_at', () => ({ complete: 1, created_at: app.now() - 10 * DAY })),
  }
}

function logSettings({ app, next }: ReloadedDaemon, mx: MxClients): Observations {
  /** The lines about a recipient that is refused. */
  const refuse = async (): Promise<string> => {
    const count = app.lines.length
    await mx.ask(['MAIL FROM:<>', `RCPT TO:<absent${next()}@absent.test>`])
    return app.lines.slice(count).filter((line) => line.includes('absent.test')).join()
  }
  return {
    'log.level': { from: 'error', to: 'info', sees: ['', /turned away/], look: refuse },
    'log.levels': { from: { smtp: 'error' }, to: { smtp: 'info' }, sees: ['', /turned away/], look: refuse },
    'log.hash_local_parts': {
      ...{ from: false, to: true, beside: { 'log.level': 'info' }, sees: [/"absent\d+@absent\.test/, /"(?!absent)[^"]+@absent\.test/] },
      look: refuse,
    },
  }
}
