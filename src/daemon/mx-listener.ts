/** Wires the MX listener to the rooms below it. */
import type { Config } from '../config/complete.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { TlsFiles } from '../platform/tls-files.js'
import { checkRecipient } from '../receiving/check-recipient.js'
import { defaultMxLimits, type MxSettings } from '../smtp/mx/mx-deps.js'
import { type MxListener, startMxListener } from '../smtp/mx/mx-listener.js'
import type { MessageMemory } from './message-memory.js'
import type { Receiving } from './receiving.js'

interface MxDeps {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly tls: TlsFiles
  readonly hasDiskSpace: () => boolean
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
}: MxDeps): Promise<MxListener> {
  return startMxListener({
    checkRecipient: (address, size) =>
      checkRecipient({ ...receiving.recipients, maxSize: config.inbound.max_size }, address, size),
    accept: receiving.acceptInbound,
    findListings: receiving.findListings,
    hasDiskSpace,
    memory: memory.mx,
    schedule: (milliseconds, act) => {
      const timer = setTimeout(act, milliseconds)
      return () => clearTimeout(timer)
    },
    clock,
    log,
    settings: buildMxSettings(config, tls),
  })
}

/** Getters: what a reload changes is in force for the next connection or command. */
function buildMxSettings({ service, inbound }: Config, { cert, key }: TlsFiles): MxSettings {
  return {
    ...defaultMxLimits,
    hostname: service.hostname,
    listen: inbound.listen,
    tls: { cert, key },
    get proxies() {
      return inbound.proxies
    },
    get maxConnections() {
      return inbound.max_connections
    },
    get maxConnectionsPerAddress() {
      return inbound.max_connections_per_address
    },
    get maxConnectionsPerNetwork() {
      return inbound.max_connections_per_network
    },
    get dataPace() {
      return { bytesPerSecond: inbound.min_data_rate, patience: inbound.min_data_rate_patience }
    },
    get connectionsPerMinute() {
      return inbound.connections_per_minute
    },
    get messagesPerMinute() {
      return inbound.messages_per_minute
    },
    get maxSize() {
      return inbound.max_size
    },
    get maxRecipients() {
      return inbound.max_recipients
    },
    get sessionDeadline() {
      return inbound.session_deadline
    },
    get earlyTalkers() {
      return inbound.early_talkers
    },
    get maxRefusedRecipients() {
      return inbound.max_refused_recipients
    },
    get tarpit() {
      return inbound.tarpit
    },
    get refuseListedFrom() {
      return inbound.refuse_listed_from ?? null
    },
  }
}
