/** Everything behind the doors, built once: what is remembered, the queue, the threads, the periodic work. */
import { type ApiKeyCache, createApiKeyCache } from '../accounts/keys/api-key-cache.js'
import { createTemplateCache, type TemplateCache } from '../content/template-cache.js'
import { createSigningKeyCache, type SigningKeyCache } from '../domains/dkim/signing-keys.js'
import { SigningThread } from '../domains/dkim/signing-thread.js'
import { createReceivingDomainCache, type ReceivingDomainCache } from '../domains/receiving-domain-cache.js'
import { createSendingDomainCache, type SendingDomainCache } from '../domains/sending-domain-cache.js'
import { createImportRunner, type ImportRunner } from '../imports/import-runner.js'
import { type DomainName, parseAddress } from '../mail/address.js'
import { defaultMimeLimits, MimeReader } from '../messages/mime/mime-parts.js'
import type { DeletedDomain } from '../messages/queue/fail-domain.js'
import { analysisModule } from '../spam/content-analysis.js'
import type { Database } from '../storage/database.js'
import type { SuppressionCache } from '../suppressions/suppression-cache.js'
import { type AudienceRemovals, audienceRemovals } from './audience-removals.js'
import { type DaemonParts, defaultStopTimeouts, type StopSteps } from './daemon-parts.js'
import { type Delivery, wireDelivery } from './delivery.js'
import { type DomainChecks, wireDomainChecks } from './domain-checks.js'
import { type DomainWalks, domainWalks } from './domain-walks.js'
import { systemEdges } from './edges.js'
import { startHousekeeping } from './housekeeping.js'
import { ensureIdentity, type Identity } from './identity.js'
import { type Limits, openLimits } from './limits.js'
import { type People, wirePeople } from './people.js'
import { type Receiving, type ReceivingParts, wireReceiving } from './receiving.js'

export interface Rooms {
  readonly suppressions: SuppressionCache
  readonly identity: Identity
  readonly keyRing: ApiKeyCache
  readonly domains: SendingDomainCache
  readonly receivingDomains: ReceivingDomainCache
  readonly keys: SigningKeyCache
  readonly signing: SigningThread
  readonly delivery: Delivery
  readonly receiving: Receiving
  readonly limits: Limits
  readonly mime: MimeReader
  readonly templates: TemplateCache
  readonly walks: DomainWalks
  readonly audienceRemovals: AudienceRemovals
  readonly domainChecks: DomainChecks
  readonly people: People
  readonly imports: ImportRunner
}

export async function openRooms(
  parts: DaemonParts,
  database: Database,
  suppressions: SuppressionCache,
  stopSteps: StopSteps,
): Promise<Rooms> {
  const { config, clock, log } = parts
  const identity = await ensureIdentity(database, parseAddress(config.service.mail_from), clock())
  const common = { config, clock, log, edges: { ...systemEdges(), ...parts.edges }, database, identity }
  const caches = openCaches(common)
  const limits = registerStop(stopSteps, openLimits(common))
  const { inboundBytes } = limits
  const engines = openEngines(
    { ...common, ...caches, inboundBytes },
    stopSteps,
    parts.stopTimeouts ?? defaultStopTimeouts,
  )
  const { delivery } = engines
  registerStop(stopSteps, startHousekeeping(common))
  const onWalkEnd = ({ workspaceId, domain }: DeletedDomain): void => delivery.dropMailFrom(workspaceId, domain)
  const walks = registerStop(stopSteps, domainWalks({ ...database, log, onWalkEnd }))
  const removals = registerStop(stopSteps, audienceRemovals({ ...database, log }))
  const people = registerStop(stopSteps, wirePeople({ ...common, delivery }))
  const onDomainChanged = (place: DomainRef): void => forgetDomain(caches, place)
  const domainChecks = registerStop(stopSteps, wireDomainChecks({ ...common, onDomainChanged }))
  const imports = registerStop(stopSteps, createImportRunner({ ...database, clock, log }))
  const work = { walks, audienceRemovals: removals, people, domainChecks, imports }
  return { ...caches, ...engines, ...work, limits, suppressions, identity }
}

/** What is remembered of keys, domains and templates. */
function openCaches({ clock, database }: CommonParts): Caches {
  return {
    keyRing: createApiKeyCache({ ...database, clock }),
    domains: createSendingDomainCache(database),
    receivingDomains: createReceivingDomainCache(database),
    keys: createSigningKeyCache(database),
    templates: createTemplateCache(database),
  }
}

type CommonParts = Pick<ReceivingParts, 'config' | 'clock' | 'log' | 'edges' | 'database' | 'identity'>
type Caches = Pick<Rooms, 'keyRing' | 'domains' | 'receivingDomains' | 'keys' | 'templates'>
type Engines = Pick<Rooms, 'signing' | 'delivery' | 'mime' | 'receiving'>

function openEngines(
  own: CommonParts & Caches & Pick<ReceivingParts, 'inboundBytes'>,
  stopSteps: StopSteps,
  stopTimeouts: NonNullable<DaemonParts['stopTimeouts']>,
): Engines {
  const signing = registerStop(stopSteps, new SigningThread())
  const delivery = wireDelivery({ ...own, signing })
  stopSteps.push(() => delivery.stop(stopTimeouts.delivery))
  const mime = new MimeReader(defaultMimeLimits, analysisModule)
  stopSteps.push(() => mime.close())
  const offer: ReceivingParts['offer'] = (enqueued, raw) => delivery.runner.offer(enqueued, raw)
  const receiving = registerStop(stopSteps, wireReceiving({ ...own, mime, offer }))
  return { signing, delivery, mime, receiving }
}

/** The same, and it is ended with the rest. */
function registerStop<Room extends { readonly stop: () => Promise<void> }>(stopSteps: StopSteps, room: Room): Room {
  stopSteps.push(() => room.stop())
  return room
}

type DomainRef = Pick<DeletedDomain, 'workspaceId'> & { readonly domain: DomainName }

/** A domain of ours has changed: what was remembered of it does not count any more, and nothing else is forgotten. */
export function forgetDomain(
  { domains, receivingDomains, keys }: Pick<Rooms, 'domains' | 'receivingDomains' | 'keys'>,
  { workspaceId, domain }: DomainRef,
): void {
  domains.forget(workspaceId, domain)
  receivingDomains.forget(domain)
  keys.forget(workspaceId, domain)
}

/** Somebody else changed keys, domains or the queue: nothing that was remembered counts any more. */
export function forgetAll(rooms: Rooms): void {
  rooms.keyRing.drop()
  rooms.domains.drop()
  rooms.receivingDomains.drop()
  rooms.keys.drop()
  rooms.signing.forgetKeys()
  rooms.suppressions.drop()
  rooms.templates.drop()
  rooms.limits.plans.drop()
  rooms.delivery.wake()
  rooms.domainChecks.wake()
}
