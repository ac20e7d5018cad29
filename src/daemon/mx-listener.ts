/** Wires the MX listener to the rooms below it. */
import type { ReadSettings, StartSettings } from '../config/live-config.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { ListenerTls } from '../platform/tls-files.js'
import { checkRecipient } from '../receiving/check-recipient.js'
import { type MxListener, startMxListener } from '../smtp/mx/mx-listener.js'
import type { MessageMemory } from './message-memory.js'
import type { Receiving } from './receiving.js'

interface MxDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly tls: ListenerTls
  readonly hasDiskSpace: () => boolean
  readonly observers: Observers | null
  readonly memory: Pick<MessageMemory, 'mx'>
  readonly receiving: Receiving
}

export function openMxListener({
  config,
  settings,
  clock,
  log,
  tls,
  hasDiskSpace,
  memory,
  receiving,
  observers,
}: MxDeps): Promise<MxListener> {
  const checking = { ...receiving.recipients, maxSize: () => settings().inbound.max_size }
  return startMxListener({
    checkRecipient: (address, size, from) => checkRecipient(checking, address, size, from),
    accept: receiving.acceptInbound,
    findListings: receiving.findListings,
    findAllowListings: receiving.findAllowListings,
    greylist: receiving.greylist,
    hasDiskSpace,
    memory: memory.mx,
    observer: observers?.observeListener('mx') ?? null,
    schedule: (milliseconds, act) => {
      const timer = setTimeout(act, milliseconds)
      return () => clearTimeout(timer)
    },
    clock,
    log,
    hostname: config.service.hostname,
    tls,
    settings: () => settings().inbound,
  })
}
