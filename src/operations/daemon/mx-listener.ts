/** Opens the MX listener. */
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Receiving } from '../../inbound/receiving/receiving.js'
import type { MxDeps } from '../../servers/smtp/mx/mx-deps.js'
import { type MxListener, startMxListener } from '../../servers/smtp/mx/mx-listener.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { MessageMemory } from './message-memory.js'

interface ListenerDeps extends Pick<MxDeps, 'clock' | 'log' | 'tls' | 'disk'> {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly observers: Observers | null
  readonly memory: Pick<MessageMemory, 'mx'>
  readonly receiving: Receiving
}

export function openMxListener(deps: ListenerDeps): Promise<MxListener> {
  const { config, settings, clock, log, tls, disk, memory, receiving, observers } = deps
  const { recipients, acceptor, blockLists, allowLists, greylist } = receiving
  return startMxListener({
    ...{ clock, log, tls, disk, recipients, acceptor, blockLists, allowLists, greylist },
    hostname: config.service.hostname,
    settings: () => settings().inbound,
    memory: memory.mx,
    observer: observers?.observeListener('mx') ?? null,
  })
}
