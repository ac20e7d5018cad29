/** Observes the settings of delivery: where mail goes, from which address, and what becomes of mail that waits. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openSink, type ScriptedSink } from '../../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../../helpers/wait-until.js'
import type { Observations, ReloadedDaemon } from './observation.js'

const HOUR = 3_600_000

/** Names of this end are found by their MX records, at the port of the settings. */
export const outboundZone = Object.fromEntries(
  ['d.test', 'r.test', 'f.test', 'held.test', 'other.test', 't.test'].flatMap((domain) => [
    [domain, { mx: [[10, `mx.${domain}`]] as const }],
    [`mx.${domain}`, { addresses: ['127.0.0.1'] }],
  ]),
)

export interface Sinks {
  /** The one at `outbound.port`. */
  readonly one: ScriptedSink
  readonly two: ScriptedSink
  /** Defers each recipient. */
  readonly deferring: ScriptedSink
  /** Answers the end of a message once `release` was called. */
  readonly holding: ScriptedSink
  release: () => void
}

export async function openSinks(): Promise<Sinks> {
  let free: Promise<void> = Promise.resolve()
  const sinks: Sinks = {
    one: await openSink(),
    two: await openSink(),
    deferring: await openSink({ script: { rcpt: '451 4.2.1 later' } }),
    holding: await openSink({ script: { message: () => free.then(() => '250 ok') } }),
    release: () => undefined,
  }
  const hold = (): void => {
    free = new Promise((resolve) => {
      sinks.release = () => {
        resolve()
        hold()
      }
    })
  }
  hold()
  return sinks
}

/** Sends mail through the daemon and says what became of it. */
class Outbound {
  constructor(
    readonly here: ReloadedDaemon,
    readonly sinks: Sinks,
  ) {}

  /** The sink that a message came to, `waits`, or the state of its recipient. */
  async findFate(domain: string, from?: string): Promise<string> {
    const { app } = this.here
    const to = `n${this.here.next()}@${domain}`
    const id = await app.submitAccepted({ to: [to], ...(from === undefined ? {} : { from }) })
    return waitUntil(`the fate of ${to}`, async () => {
      for (const name of ['one', 'two'] as const)
        if (this.sinks[name].messages.some(({ rcptTo }) => rcptTo[0]?.includes(to))) return name
      if ((await app.rows('select 1 from queue where email_id = ? and waits_for is not null', id)).length > 0)
        return 'waits'
      const [recipient] = (await app.findStory(id)).recipients
      return recipient?.status === 'bounced' && 'not sent'
    })
  }

  /** The fate of the second of two messages, when the first has its fate. */
  async findSecondFate(domain: string, from?: string): Promise<string> {
    await this.findFate(domain, from)
    return this.findFate(domain, from)
  }

  /** The address that a message to d.test came from. */
  async findPeer(): Promise<string | undefined> {
    const { one } = this.sinks
    await this.findFate('d.test')
    return one.peers[one.messages.at(-1)?.connection ?? 0]
  }

  /** Defers a message, once more after each of these waits; its row in the queue and its state then. */
  async defer(
    ...waits: readonly number[]
  ): Promise<{ readonly next_attempt_at: number; readonly noticed: number } | undefined> {
    const { app } = this.here
    const id = await app.submitAccepted({ to: [`n${this.here.next()}@t.test`] })
    for (const [attempts, wait] of [0, ...waits].entries()) {
      app.advance(wait)
      await waitUntil(
        'it was attempted',
        async () => (await app.findStory(id)).recipients[0]?.attempts.length === attempts + 1,
      )
    }
    type Row = { readonly next_attempt_at: number; readonly noticed: number }
    return (await app.rows<Row>('select next_attempt_at, noticed from queue where email_id = ?', id))[0]
  }

  /** The most messages that were under way at once, of two to these domains. */
  async countAtOnce(domains: readonly string[], phase: 'before' | 'after'): Promise<number> {
    const { app } = this.here
    const { holding } = this.sinks
    const ids: string[] = []
    const before = holding.commands.length
    const countHeld = (): number => holding.commands.slice(before).filter((line) => line === 'DATA').length
    for (const domain of domains) ids.push(await app.submitAccepted({ to: [`n${this.here.next()}@${domain}`] }))
    await waitUntil('what comes at once', () => countHeld() === (phase === 'before' ? 2 : 1))
    // A second one would come at once.
    if (phase === 'after') await sleep(50)
    const count = countHeld()
    for (const id of ids) {
      await waitUntil('it has ended', async () => {
        this.sinks.release()
        return (await app.findStory(id)).recipients[0]?.status === 'delivered'
      })
    }
    return count
  }
}

export function outboundSettings(here: ReloadedDaemon, sinks: Sinks): Observations {
  const outbound = new Outbound(here, sinks)
  return {
    ...routeSettings(outbound),
    ...sourceSettings(outbound),
    ...warmUpSettings(outbound),
    ...waitSettings(outbound),
  }
}

function routeSettings(outbound: Outbound): Observations {
  const { here, sinks } = outbound
  const file = join(here.app.folder, 'routes')
  writeFileSync(file, `"f.test" = "127.0.0.1:${sinks.two.port}"\n`, { mode: 0o600 })
  return {
    'outbound.port': {
      from: sinks.one.port,
      to: sinks.two.port,
      sees: ['one', 'two'],
      look: () => outbound.findFate('d.test'),
    },
    'outbound.routes': {
      ...{ from: { 'r.test': sinks.one }, to: { 'r.test': sinks.two }, sees: ['one', 'two'] },
      look: () => outbound.findFate('r.test'),
    },
    'outbound.routes_file': {
      ...{ from: '', to: file, sees: ['one', 'two'], fills: 'outbound.routes' },
      look: () => outbound.findFate('f.test'),
    },
    'outbound.allowed_private_networks': {
      ...{ from: ['127.0.0.0/8'], to: [], sees: ['one', 'not sent'], look: () => outbound.findFate('d.test') },
    },
    'outbound.max_connections': {
      ...{ from: 100, to: 1, sees: [2, 1], look: (phase) => outbound.countAtOnce(['held.test', 'other.test'], phase) },
    },
    'outbound.max_connections_per_host': {
      ...{ from: 10, to: 1, sees: [2, 1], look: (phase) => outbound.countAtOnce(['held.test', 'held.test'], phase) },
    },
  }
}

function sourceSettings(outbound: Outbound): Observations {
  const look = (): Promise<string | undefined> => outbound.findPeer()
  const sources = [{ address: '127.0.0.6' }, { address: '127.0.0.7', pool: 'bulk' }]
  const rule = { pool: 'bulk', workspace: outbound.here.app.workspaceId }
  return {
    'outbound.source_addresses': { from: ['127.0.0.4'], to: ['127.0.0.5'], sees: ['127.0.0.4', '127.0.0.5'], look },
    'outbound.sources': {
      ...{ from: [{ address: '127.0.0.6' }], to: [{ address: '127.0.0.7' }], sees: ['127.0.0.6', '127.0.0.7'], look },
    },
    'outbound.pool_rules': {
      ...{ from: [], to: [rule], sees: ['127.0.0.6', '127.0.0.7'], look, beside: { 'outbound.sources': sources } },
    },
  }
}

function warmUpSettings(outbound: Outbound): Observations {
  const { here, sinks } = outbound
  const route = `127.0.0.1:${sinks.two.port}`
  const file = join(here.app.folder, 'warm-up-route')
  writeFileSync(file, `${route}\n`, { mode: 0o600 })
  const plan = { 'outbound.warm_up_plan': [1] }
  const warming = (address: string) => ({ 'outbound.sources': [{ address, warm_up: true }] })
  const look = (): Promise<string> => outbound.findSecondFate('d.test')
  return {
    'outbound.warm_up_plan': {
      ...{ from: [1], to: [1000], sees: ['waits', 'one'], look, beside: warming('127.0.0.8') },
    },
    'outbound.warm_up_route': {
      ...{ from: '', to: route, sees: ['waits', 'two'], look, beside: { ...plan, ...warming('127.0.0.9') } },
    },
    'outbound.warm_up_route_file': {
      ...{ from: '', to: file, sees: ['waits', 'two'], look, beside: { ...plan, ...warming('127.0.0.10') } },
      fills: 'outbound.warm_up_route',
    },
    'outbound.domain_warm_up': {
      ...{ from: false, to: true, sees: ['one', 'waits'], beside: plan },
      look: () => outbound.findSecondFate('d.test', 'app@new.test'),
    },
  }
}

function waitSettings(outbound: Outbound): Observations {
  const beside = { 'outbound.routes': { 't.test': outbound.sinks.deferring }, 'outbound.retry_schedule': ['5m'] }
  const { app } = outbound.here
  return {
    'outbound.retry_schedule': {
      ...{ from: ['5m'], to: ['2h'], sees: [0, 2], beside },
      look: async () => Math.round((((await outbound.defer())?.next_attempt_at ?? 0) - app.now()) / HOUR),
    },
    'outbound.expire_after': {
      ...{
        from: '4d',
        to: '1h',
        beside: { ...beside, 'outbound.delay_notice_after': '30m' },
        sees: ['waits', 'expired'],
      },
      look: async () => ((await outbound.defer(2 * HOUR)) === undefined ? 'expired' : 'waits'),
    },
    'outbound.delay_notice_after': {
      ...{ from: '4h', to: '1h', beside, sees: [0, 1], look: async () => (await outbound.defer(2 * HOUR))?.noticed },
    },
  }
}
