/** Observes the settings of workspaces and people: plans and limits, sessions of browsers, the circuit breaker. */
import { pino } from 'pino'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { Breaker } from '../../../src/outbound/breaker/breaker.js'
import { statesOfWorkspace } from '../../../src/outbound/breaker/breaker-states.js'
import { PendingCounts } from '../../../src/outbound/breaker/pending-counts.js'
import { InboundBytes } from '../../../src/workspaces/accounts/limits/inbound-bytes.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { givePassword, openBrowser } from '../../helpers/http/browser-client.js'
import type { Observations, ReloadedDaemon } from './observation.js'

const HOUR = 3_600_000

export async function accountSettings(here: ReloadedDaemon): Promise<Observations> {
  return { ...limitSettings(here), ...sessionSettings(here), ...(await breakerSettings(here)) }
}

function limitSettings(here: ReloadedDaemon): Observations {
  const { app } = here
  const post = async (path: string, body: object): Promise<number> => (await app.rest('POST', path, { body })).status
  const makeWorkspace = async (): Promise<string> => {
    const made = await app.rest('POST', '/v1/workspaces', { body: { name: 'More' } })
    const { data } = made.json<{ readonly data?: { readonly id: string } }>()
    return (
      (await app.rows<{ readonly plan: string }>('select plan from workspaces where id = ?', data?.id ?? ''))[0]
        ?.plan ?? `${made.status}`
    )
  }
  const invite = (): Promise<number> =>
    post('/v1/members', { email: `n${here.next()}@b.test`, role: 'member', workspaceId: app.workspaceId })
  const inboundBytes = new InboundBytes({
    ...{ read: app.daemon.database.read, clock: app.now, settings: () => here.settings().limits },
    ...{
      plans: { find: () => ({ name: '', limits: {} }), findOwner: async (_read: unknown, id: string) => id },
      operatorWorkspace: { find: async () => null },
    },
    disk: { room: () => 1_000_000 },
  })
  const readLimit = async (key: string): Promise<unknown> => (await app.rest('GET', '/v1/usage', { key })).json()
  return {
    'limits.default_plan': { from: 'unlimited', to: 'free', sees: ['unlimited', 'free'], look: makeWorkspace },
    'limits.create_workspaces': { from: 'owners', to: 'operator', sees: ['unlimited', '403'], look: makeWorkspace },
    'limits.domain_emails_per_day': {
      ...{ from: 1_000_000, to: 1, sees: [/^250/, /^452/] },
      look: async () => app.submit({ to: ['limited@d.test'] }),
    },
    'limits.invitations_per_day': {
      ...{ from: 1_000, to: 1, sees: [201, 429], look: async () => ((await invite()) === 201 ? invite() : 429) },
    },
    'limits.operator_inbound_bytes': {
      ...{ from: '10GB', to: '5GB', look: () => readLimit(app.otherKey) },
      sees: [{ inbound: { bytes_limit: 10 * 1024 ** 3 } }, { inbound: { bytes_limit: 5 * 1024 ** 3 } }],
    },
    // The room on the disk of a test is unknown, so these bytes are not the daemon's.
    'limits.inbound_disk_percent': {
      ...{ from: 80, to: 50, sees: [4_000_000, 1_000_000], look: async () => inboundBytes.limitNow('ws_none') },
    },
    'limits.plans': {
      ...{ from: { small: { emails_per_month: 100_000 } }, to: { small: { emails_per_month: 200_000 } } },
      ...{
        look: () => readLimit(app.otherKey),
        sees: [{ usage: { emails_limit: 100_000 } }, { usage: { emails_limit: 200_000 } }],
      },
    },
  }
}

function sessionSettings({ app }: ReloadedDaemon): Observations {
  const askAfter = async (wait: number, pause: number): Promise<number> => {
    await givePassword(app)
    const browser = openBrowser(app)
    await browser.signIn('owner@a.test')
    let status = 0
    for (let waited = 0; waited < wait; waited += pause) {
      app.advance(pause)
      status = (await browser.ask('GET', '/session')).status
    }
    return status
  }
  return {
    'ui.session_idle': { from: '12h', to: '1h', sees: [200, 401], look: () => askAfter(2 * HOUR, 2 * HOUR) },
    'ui.session_max': { from: '7d', to: '3h', sees: [200, 401], look: () => askAfter(4 * HOUR, HOUR) },
  }
}

/** So many messages of one sender domain, and the state that the breaker gives it. */
type Judge = (counts: Readonly<Record<'accepted' | 'bounced' | 'complained', number>>) => Promise<string>

async function breakerSettings(here: ReloadedDaemon): Promise<Observations> {
  const judge = await openBreaker(here)
  const limits = {
    ...{ bounce_warn_percent: 5, bounce_hold_percent: 90, complaint_warn_percent: 5, complaint_hold_percent: 90 },
    ...{ min_messages: 10, min_delivered: 10 },
  }
  /** A fifth of all bounced, or was complained of. */
  const bounced = { accepted: 80, bounced: 20, complained: 0 }
  const complained = { accepted: 100, bounced: 0, complained: 20 }
  const watch = (
    name: string,
    values: readonly [unknown, unknown],
    given: typeof bounced,
    sees: readonly [string, string],
  ): Observations => {
    const others = Object.entries(limits).filter(([other]) => other !== name)
    const beside = Object.fromEntries(others.map(([other, value]) => [`limits.breaker.${other}`, value]))
    const [from, to] = values
    return { [`limits.breaker.${name}`]: { from, to, beside, sees, look: () => judge(given) } }
  }
  return {
    ...watch('bounce_warn_percent', [50, 10], bounced, ['ok', 'warning']),
    ...watch('bounce_hold_percent', [90, 15], bounced, ['warning', 'held']),
    ...watch('complaint_warn_percent', [50, 10], complained, ['ok', 'warning']),
    ...watch('complaint_hold_percent', [90, 15], complained, ['warning', 'held']),
    ...watch('enabled', [true, false], bounced, ['warning', 'ok']),
    ...watch('min_messages', [10, 1000], bounced, ['warning', 'ok']),
    ...watch('min_bounces', [1, 1000], bounced, ['warning', 'ok']),
    ...watch('min_delivered', [10, 1000], complained, ['warning', 'ok']),
    ...watch('min_complaints', [1, 1000], complained, ['warning', 'ok']),
  }
}

/** The breaker over a database of its own: in the daemon it looks at what was counted once a second. */
async function openBreaker({ t, settings, next }: ReloadedDaemon): Promise<Judge> {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const row = rowOf(read)
  let now = Date.UTC(2030, 0, 31, 12)
  const counts = new PendingCounts({ clock: () => now, isSimulated: () => false, ownerOf: (id) => `owner of ${id}` })
  const nothing = { sql: 'delete from breaker_counts where 0', parameters: [] }
  const breaker = new Breaker({
    leads: () => true,
    ...{
      read,
      commit,
      counts,
      clock: () => now,
      log: pino({ level: 'silent' }),
      onHoldsChanged: async () => undefined,
    },
    limits: () => settings().limits.breaker,
    broadcasts: { statusOf: async () => 'ended', pause: () => nothing, resume: () => nothing },
  })
  t.teardown(() => breaker.stop())
  return async (given) => {
    const workspaceId = `ws_${next()}`
    await commit([await row('workspaces', { id: workspaceId, slug: workspaceId })])
    const place = { workspaceId, senderDomain: 'a.test', broadcastId: null, recipientDomain: parseDomainName('c.test') }
    for (const kind of ['accepted', 'bounced', 'complained'] as const)
      for (let at = 0; at < given[kind]; at += 1) counts.count({ ...place, kind })
    // A minute later all that was counted is judged.
    now += 61_000
    await breaker.wake()
    return (
      (await statesOfWorkspace(read, { workspaceId, limit: 10 })).find(({ scope }) => scope === 'domain')?.state ?? 'ok'
    )
  }
}
