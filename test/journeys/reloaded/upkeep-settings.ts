/** Observes the settings of the daily checks, of what is kept how long, and of the log. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { createDialer } from '../../../src/base/platform/dialer.js'
import { clockChecks } from '../../../src/operations/doctor/checks/clock-checks.js'
import { openCheckDeps } from '../../../src/operations/doctor/checks/open-deps.js'
import { DailyChecks } from '../../../src/operations/doctor/daily/daily-checks.js'
import { readLastRun } from '../../../src/operations/doctor/findings-store.js'
import { runChecks } from '../../../src/operations/doctor/run-checks.js'
import { Housekeeping } from '../../../src/operations/upkeep/housekeeping.js'
import { createLinkId } from '../../../src/outbound/tracking/link-id.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { zoneResolver } from '../../helpers/dns/zone-resolver.js'
import { givePassword, openBrowser } from '../../helpers/http/browser-client.js'
import { waitUntil } from '../../helpers/wait-until.js'
import type { MxClients } from './mx-clients.js'
import type { Observations, ReloadedDaemon } from './observation.js'

const DAY = 86_400_000

/** Their MX hosts are at this machine; as block lists, they have every address. */
export const doctorZone = Object.fromEntries(
  ['one.test', 'two.test'].flatMap((domain) => [
    [domain, { mx: [[10, `mx.${domain}`]] as const }],
    [`mx.${domain}`, { addresses: ['127.0.0.1'] }],
    [`1.0.0.127.${domain}`, { addresses: ['127.0.0.2'] }],
  ]),
)

export async function upkeepSettings(here: ReloadedDaemon, mx: MxClients): Promise<Observations> {
  return { ...doctorSettings(here), ...(await retentionSettings(here)), ...logSettings(here, mx) }
}

function doctorSettings(here: ReloadedDaemon): Observations {
  const { app, settings } = here
  /** The subjects of a check that the dashboard runs, with what was found wrong. */
  const check = async (name: string): Promise<string> => {
    await givePassword(app, 'owner@other.test')
    const browser = openBrowser({ rest: app.rest, workspaceId: app.otherWorkspaceId })
    await browser.signIn('owner@other.test')
    type Finding = { readonly check: string; readonly subject: string; readonly text: string }
    const { findings } = (await browser.ask('POST', '/operator/doctor')).json<{
      readonly findings: readonly Finding[]
    }>()
    return findings
      .filter((found) => found.check === name)
      .map(({ subject, text }) => `${subject}: ${text}`)
      .join('\n')
  }
  const folder = join(app.folder, 'backups')
  mkdirSync(folder)
  writeFileSync(join(folder, 'posthorn.db'), 'a backup')
  const daysAgo = (app.now() - 3 * DAY) / 1000
  utimesSync(join(folder, 'posthorn.db'), daysAgo, daysAgo)
  return {
    'doctor.mx_domains': {
      from: ['one.test'],
      to: ['two.test'],
      sees: [/^one\.test/, /^two\.test/],
      look: () => check('port25-out'),
      beside: { 'outbound.port': 1 },
    },
    'doctor.block_lists': {
      from: ['one.test'],
      to: ['two.test'],
      sees: [/^one\.test/, /^two\.test/],
      look: () => check('blocklist'),
    },
    'doctor.backup_folder': { from: '', to: folder, sees: ['', /hours old/], look: () => check('backup') },
    'doctor.backup_max_age': {
      ...{
        from: '1d',
        to: '400d',
        sees: [/hours old/, ''],
        look: () => check('backup'),
        beside: { 'doctor.backup_folder': folder },
      },
    },
    'doctor.time_url': {
      ...{ from: 'https://one.test/', to: 'https://two.test/', sees: [/one\.test/, /two\.test/] },
      look: async () => {
        // Where the system answers for the clock, no URL is asked.
        const edges = { config: settings(), clock: app.now, read: null, resolver: zoneResolver({}) }
        const found = await runChecks(clockChecks, (signal) => ({
          ...openCheckDeps(edges, signal),
          readClockState: async () => null,
        }))
        return found.map(({ text }) => text).join()
      },
    },
    'doctor.daily': dailySetting(here),
  }
}

/** The timer of the daily checks ticks once a minute. */
function dailySetting({ t, app, settings }: ReloadedDaemon): Observations[string] {
  const { database } = app.daemon
  const resolver = zoneResolver({})
  const doctor = new DailyChecks({
    ...{ settings, clock: app.now, log: pino({ level: 'silent' }), database },
    edges: { resolver, dialer: createDialer(), authorities: undefined },
  })
  const timers = mock.method(globalThis, 'setInterval')
  doctor.start()
  const [timer] = timers.mock.calls
  timers.mock.restore()
  t.teardown(() => doctor.stop())
  return {
    ...{ from: false, to: true, sees: ['no run', 'a run'] },
    look: async () => {
      const { at } = await readLastRun(database.read, database.node.name)
      const asked = resolver.asked.length
      app.advance(2 * DAY)
      timer?.arguments[0]()
      // The checks of a run begin at once.
      await sleep(20)
      if (resolver.asked.length === asked) return 'no run'
      await waitUntil('the run has ended', async () => (await readLastRun(database.read, database.node.name)).at !== at)
      return 'a run'
    },
  }
}

/** They have a database of their own, since the daemon removes only once an hour. */
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
        const count = async (): Promise<number> => (await database.read(`select 1 from ${table}`, [])).length
        await database.commit([
          { sql: `delete from ${table}`, parameters: [] },
          await row(table, { [column]: app.now() - 10 * DAY, ...more() }),
        ])
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
    return app.lines
      .slice(count)
      .filter((line) => line.includes('absent.test'))
      .join()
  }
  return {
    'log.level': { from: 'error', to: 'info', sees: ['', /turned away/], look: refuse },
    'log.levels': { from: { smtp: 'error' }, to: { smtp: 'info' }, sees: ['', /turned away/], look: refuse },
    'log.hash_local_parts': {
      ...{
        from: false,
        to: true,
        beside: { 'log.level': 'info' },
        sees: [/"absent\d+@absent\.test/, /"(?!absent)[^"]+@absent\.test/],
      },
      look: refuse,
    },
  }
}
