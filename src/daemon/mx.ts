/** Wires the MX listener to the rooms below it. */
import type { Config } from '../config/complete.js'
import type { Address } from '../mail/address.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { TlsFiles } from '../platform/tls-files.js'
import { partyOf } from '../receiving/destinations.js'
import { listenForMail, type MxListener } from '../smtp/mx.js'
import { type MxSettings, mxLimits, type TakenRecipient } from '../smtp/mx-deps.js'
import type { RecipientRefusal } from '../smtp/mx-refusals.js'
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
    recipient: (address) => recipient(receiving.recipients, address),
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

function recipient({ recipientOf, firstWorkspace }: Recipients, address: Address): TakenRecipient | RecipientRefusal {
  const found = recipientOf(address)
  if (found.kind === 'refused') return refusals[found.why]
  const party = partyOf(found, firstWorkspace())
  if (party === 'refused') return 'unknown-recipient'
  return { party: party?.kind === 'workspace' ? party.id : '' }
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
