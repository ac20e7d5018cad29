/** Wires the MX listener to the rooms below it. */
import { roomIn } from '../accounts/limits/inbound-bytes.js'
import type { Config } from '../config/complete.js'
import type { Address } from '../mail/address.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { TlsFiles } from '../platform/tls-files.js'
import { partyOf } from '../receiving/destinations.js'
import { isTooLargeFor } from '../receiving/system-mail.js'
import { listenForMail, type MxListener } from '../smtp/mx.js'
import { type MxSettings, mxLimits, type TakenRecipient } from '../smtp/mx-deps.js'
import type { RecipientDelay, RecipientRefusal } from '../smtp/mx-refusals.js'
import { SERVICE } from '../storage/tables/tables.js'
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

export function openMx({ config, clock, log, tls, mayTake, memory, receiving }: MxParts): Promise<MxListener> {
  return listenForMail({
    recipient: (address, size) => recipient(receiving.recipients, address, size, config.inbound.max_size),
    accept: receiving.takeIn,
    listings: receiving.listings,
    mayTake,
    memory: memory.mx,
    after: (milliseconds, act) => {
      const timer = setTimeout(act, milliseconds)
      return () => clearTimeout(timer)
    },
    clock,
    log,
    settings: settings(config, tls),
  })
}

const refusals = {
  unknown: 'unknown-recipient',
  relay: 'relay-denied',
  blocked: 'recipient-blocked',
} as const satisfies Readonly<Record<string, RecipientRefusal>>

/** What our own fields add to a message at most, as far as that is foreseen. */
const TRACE = 4096

/** `size`: as declared; 0: not known. */
function recipient(
  { recipientOf, operatorWorkspace, inboundBytes }: Recipients,
  address: Address,
  size: number,
  maxSize: number,
): TakenRecipient | RecipientRefusal | RecipientDelay {
  const found = recipientOf(address)
  if (found.kind === 'refused') return refusals[found.why]
  if (isTooLargeFor(found, size)) return 'system-mail-size'
  const party = partyOf(found, operatorWorkspace())
  if (party === 'refused') return 'unknown-recipient'
  if (party === 'unowned') return 'no-operator'
  if (party === null) return { party: '' }
  const owner = party.kind === 'workspace' ? party.id : SERVICE
  const room = roomIn(inboundBytes(owner))
  if (room !== null && room < (size === 0 ? 1 : size + TRACE)) return 'mailbox-full'
  return {
    party: party.kind === 'workspace' ? owner : '',
    alone: room !== null && size === 0 && room < maxSize + TRACE,
  }
}

function settings({ service, inbound }: Config, { cert, key }: TlsFiles): MxSettings {
  return {
    ...mxLimits,
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
