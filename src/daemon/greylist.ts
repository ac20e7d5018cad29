/** Wires greylisting: its settings, which a reload changes, and the exempt networks. */
import type { ReadSettings } from '../config/live-config.js'
import type { ServiceIdentity } from '../domains/service-identity.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { Clock } from '../platform/clock.js'
import { isInSomeNetwork } from '../platform/ip-address.js'
import type { Log } from '../platform/log.js'
import { Greylist } from '../receiving/greylisting/greylist.js'
import type { MxDeps } from '../smtp/mx/mx-deps.js'
import type { Store } from '../storage/database.js'

interface GreylistDeps {
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Store
  readonly identity: ServiceIdentity
  readonly observers: Observers | null
}

interface OpenGreylist {
  readonly asked: MxDeps['greylist']
  readonly stop: () => Promise<void>
}

export function openGreylist({
  settings,
  clock,
  log,
  database: { read, commit },
  identity,
  observers,
}: GreylistDeps): OpenGreylist {
  const greylist = new Greylist({
    ...{ read, commit, clock, log, secret: identity.returnPathSecret },
    readTimes: () => {
      const { delay, retry_window: retryWindow, remember } = settings().inbound.greylisting
      return { delay, retryWindow, remember }
    },
    onDecision: observers?.onGreylisted,
  })
  return {
    asked: {
      applies: (setting, client) => {
        const { enabled, exempt } = settings().inbound.greylisting
        return (setting === 'default' ? enabled : setting === 'on') && !isInSomeNetwork(exempt, client)
      },
      check: (tuple) => greylist.check(tuple),
    },
    stop: () => greylist.stop(),
  }
}
