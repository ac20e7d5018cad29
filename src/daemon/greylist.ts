/** Wires greylisting: its settings, which a reload changes, and the exempt networks. */
import { isInSomeNetwork } from '../platform/ip-address.js'
import { Greylist } from '../receiving/greylisting/greylist.js'
import type { MxDeps } from '../smtp/mx/mx-deps.js'
import type { ReceivingDeps } from './receiving.js'

interface OpenGreylist {
  readonly asked: MxDeps['greylist']
  readonly stop: () => Promise<void>
}

export function openGreylist({
  config: { inbound },
  clock,
  log,
  database: { read, commit },
  identity,
  observers,
}: Pick<ReceivingDeps, 'config' | 'clock' | 'log' | 'database' | 'identity' | 'observers'>): OpenGreylist {
  const greylist = new Greylist({
    ...{ read, commit, clock, log, secret: identity.returnPathSecret },
    readTimes: () => {
      const { delay, retry_window: retryWindow, remember } = inbound.greylisting
      return { delay, retryWindow, remember }
    },
    onDecision: observers?.onGreylisted,
  })
  return {
    asked: {
      applies: (setting, client) => {
        const { enabled, exempt } = inbound.greylisting
        return (setting === 'default' ? enabled : setting === 'on') && !isInSomeNetwork(exempt, client)
      },
      check: (tuple) => greylist.check(tuple),
    },
    stop: () => greylist.stop(),
  }
}
