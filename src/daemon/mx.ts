/** Wires the MX listener to the rooms below it. */
import { remainingBytesOf } from '../accounts/limits/inbound-bytes.js'
import type { Config } from '../config/complete.js'
import type { Address } from '../mail/address.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { TlsFiles } from '../platform/tls-files.js'
import { findCopyOwner } from '../receiving/destinations.js'
import { isTooLargeFor } from '../receiving/system-mail.js'
import { type AcceptedRecipient, defaultMxLimits, type MxSettings } from '../smtp/mx/mx-deps.js'
import { type MxListener, startMxListener } from '../smtp/mx/mx-listener.js'
import type { RecipientDelay, RecipientRefusal } from '../smtp/mx/mx-refusals.js'
import { SERVICE_WORKSPACE } from '../storage/tables/tables.js'
import type { MessageMemory } from './message-memory.js'
import type { Receiving, Recipients } from './receiving.js'

export interface MxParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly tls: TlsFiles
  readonly mayTake: () => boolean
  readonly memory: Pick<MessageMemory, 'mx'>
  readonly receiving: Receiving
}

export function openMx({
  config,
  clock,
  log,
  tls,
  mayTake: hasDiskSpace,
  memory,
  receiving,
}: MxParts): Promise<MxListener> {
  return startMxListener({
    checkRecipient: (address, size) => decideRecipient(receiving.recipients, address, size, config.inbound.max_size),
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
    settings: mxSettings(config, tls),
  })
}

const refusals = {
  unknown: 'unknown-recipient',
  relay: 'relay-denied',
  blocked: 'recipient-blocked',
} as const satisfies Readonly<Record<string, RecipientRefusal>>

/** What our own fields add to a message at most, as far as that is foreseen. */
const MAX_TRACE_BYTES = 4096

/** `size`: as declared; 0: not known. */
function decideRecipient(
  { recipientOf, operatorWorkspace, inboundBytes }: Recipients,
  address: Address,
  size: number,
  maxSize: number,
): AcceptedRecipient | RecipientRefusal | RecipientDelay {
  const found = recipientOf(address)
  if (found.kind === 'refused') return refusals[found.why]
  if (isTooLargeFor(found, size)) return 'system-mail-size'
  const owner = findCopyOwner(found, operatorWorkspace())
  if (owner === 'refused') return 'unknown-recipient'
  if (owner === 'unowned') return 'no-operator'
  if (owner === null) return { workspaceId: null }
  const workspaceId = owner.kind === 'workspace' ? owner.id : null
  const room = remainingBytesOf(inboundBytes(workspaceId ?? SERVICE_WORKSPACE))
  if (room !== null && room < (size === 0 ? 1 : size + MAX_TRACE_BYTES)) return 'mailbox-full'
  return {
    workspaceId,
    alone: room !== null && size === 0 && room < maxSize + MAX_TRACE_BYTES,
  }
}

function mxSettings({ service, inbound }: Config, { cert, key }: TlsFiles): MxSettings {
  return {
    ...defaultMxLimits,
    hostname: service.hostname,
    listen: inbound.listen,
    tls: { cert, key },
    proxies: inbound.proxies,
    maxConnections: inbound.max_connections,
    maxConnectionsPerAddress: inbound.max_connections_per_address,
    maxConnectionsPerNetwork: inbound.max_connections_per_network,
    dataPace: { bytesPerSecond: inbound.min_data_rate, patience: inbound.min_data_rate_patience },
    connectionsPerMinute: inbound.connections_per_minute,
    messagesPerMinute: inbound.messages_per_minute,
    maxSize: inbound.max_size,
    maxRecipients: inbound.max_recipients,
    sessionDeadline: inbound.session_deadline,
    earlyTalkers: inbound.early_talkers,
    maxRefusedRecipients: inbound.max_refused_recipients,
    tarpit: inbound.tarpit,
    refuseListedFrom: inbound.refuse_listed_from ?? null,
  }
}
