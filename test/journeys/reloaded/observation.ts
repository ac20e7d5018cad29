/**
 * How a test observes that a reload puts a setting in force: what is seen under one value, and, after a reload, under
 * another one.
 *
 * `ReloadedDaemon.observe` reloads twice, so an observation fails where a value is kept from the start or from the reload before.
 */
import type { Test } from 'tap'
import { LiveConfig, type ReadSettings } from '../../../src/base/config/live-config.js'
import { type TestDaemon, testDaemon, writeConfiguration } from '../../helpers/daemon/test-daemon.js'
import type { Zone } from '../../helpers/dns/zone-resolver.js'

/** The values of settings, whose names are such as `inbound.max_size`. */
type Values = Readonly<Record<string, unknown>>

interface Change {
  readonly from: unknown
  readonly to: unknown
  /** Other settings, the same before and after. */
  readonly beside?: Values
  /** Other settings that change too: their values before and after. */
  readonly together?: readonly [before: Values, after: Values]
  /** A setting whose value the file holds that this one names. */
  readonly fills?: string
}

/** Something that can be looked at twice, with different results. */
interface Seen extends Change {
  readonly look: (phase: 'before' | 'after') => Promise<unknown>
  readonly sees: readonly [before: unknown, after: unknown]
}

/** Something that goes on under the value before, and is ended under the one after. */
interface Ended extends Change {
  readonly open: () => Promise<Opened>
}

interface Opened {
  /** Resolves when it is ended. */
  readonly ended: () => Promise<unknown>
  /** Rejects if it was ended. */
  readonly goOn: () => Promise<unknown>
}

export type Observation = Seen | Ended
export type Observations = Readonly<Record<string, Observation>>

export class ReloadedDaemon {
  private readonly live
  private serial = 0

  private constructor(
    readonly t: Test,
    readonly app: TestDaemon,
    private readonly base: Values,
  ) {
    this.live = new LiveConfig(app.config)
  }

  static async start(t: Test, base: Values, zone: Zone, authorities?: string): Promise<ReloadedDaemon> {
    const app = await testDaemon(t, { ...toOptions(base), zone, ...(authorities === undefined ? {} : { authorities }) })
    return new ReloadedDaemon(t, app, base)
  }

  /** The settings in force, for parts that a test builds itself. */
  readonly settings: ReadSettings = () => this.live.settings()

  /** A number that no other observation has. */
  readonly next = (): number => {
    this.serial += 1
    return this.serial
  }

  async observe(t: Test, key: string, observation: Observation): Promise<void> {
    const { beside = {}, together: [besideBefore, besideAfter] = [{}, {}], fills } = observation
    await this.reload({ ...beside, ...besideBefore, [key]: observation.from })
    const reload = async (): Promise<void> => {
      const applied = await this.reload({ ...beside, ...besideAfter, [key]: observation.to })
      t.same(
        applied.toSorted(),
        [key, ...Object.keys(besideAfter), ...(fills === undefined ? [] : [fills])].toSorted(),
        'the reload names it',
      )
    }
    if ('open' in observation) {
      const first = await observation.open()
      await reload()
      await (await observation.open()).ended()
      await t.resolves(first.goOn(), 'what began under the value before goes on')
      return
    }
    const [before, after] = observation.sees
    const seen = await observation.look('before')
    t.match(seen, before, 'before')
    await reload()
    t.match(await observation.look('after'), after, 'after')
    t.notMatch(seen, after, 'the two differ')
  }

  private async reload(values: Values): Promise<readonly string[]> {
    const options = toOptions({ ...this.base, ...values })
    const { config } = writeConfiguration(this.app.folder, options, this.app.config.storage.url)
    this.live.apply(config)
    const { applied, pending } = await this.app.daemon.reload(config)
    if (pending.length > 0) throw new Error(`not applied: ${pending.join(', ')}`)
    return applied
  }
}

/** The options of a test daemon, which names the targets of routes itself. */
function toOptions(values: Values): Parameters<typeof writeConfiguration>[1] {
  const { 'outbound.routes': routes = {}, ...others } = values
  const settings: Record<string, Record<string, unknown>> = {}
  for (const [name, value] of Object.entries(others)) {
    const path = name.split('.')
    const key = path.pop() ?? ''
    let section: Record<string, unknown> = settings
    for (const part of path) {
      section[part] ??= {}
      section = section[part] as Record<string, unknown>
    }
    section[key] = value
  }
  return { routes: routes as Readonly<Record<string, { readonly port: number }>>, settings }
}
