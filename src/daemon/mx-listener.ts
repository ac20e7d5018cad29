/** Wires the MX listener to the rooms below it. */
import type { Config } from '../config/complete.js'
import { readEachTime } from '../config/follow-setting.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { ListenerTls } from '../platform/tls-files.js'
import { checkRecipient } from '../receiving/check-recipient.js'
import { defaultMxLimits, type MxSettings } from '../smtp/mx/mx-deps.js'
import { type MxListener, startMxListener } from '../smtp/mx/mx-listener.js'
import type { MessageMemory } from './message-memory.js'
import type { Receiving } from './receiving.js'

interface MxDeps {
  readonly config: Config
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
  clock,
  log,
  tls,
  hasDiskSpace,
  memory,
  receiving,
  observers,
}: MxDeps): Promise<MxListener> {
  const checking = readEachTime({ ...receiving.recipients }, { maxSize: () => config.inbound.max_size })
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
    settings: buildMxSettings(config, tls),
  })
}

/** What a reload changes is in force for the next connection or command. */
function buildMxSettings({ service, inbound }: Config, tls: ListenerTls): MxSettings {
  return readEachTime(
    {
      ...defaultMxLimits,
      hostname: service.hostname,
      listen: inbound.listen,
      tls,
    },
    {
      proxies: () => inbound.proxies,
      maxConnections: () => inbound.max_connections,
      maxConnectionsPerAddress: () => inbound.max_connections_per_address,
      maxConnectionsPerNetwork: () => inbound.max_connections_per_network,
      dataPace: () => ({ bytesPerSecond: inbound.min_data_rate, patience: inbound.min_data_rate_patience }),
      connectionsPerMinute: () => inbound.connections_per_minute,
      messagesPerMinute: () => inbound.messages_per_minute,
      bytesPerMinute: () => inbound.bytes_per_minute,
      maxSize: () => inbound.max_size,
      maxRecipients: () => inbound.max_recipients,
      sessionDeadline: () => inbound.session_deadline,
      earlyTalkers: () => inbound.early_talkers,
      maxRefusedRecipients: () => inbound.max_refused_recipients,
      tarpit: () => inbound.tarpit,
      refuseListedFrom: () => inbound.refuse_listed_from ?? null,
    },
  )
}
