/** Everything behind the doors, built once: what is remembered, the queue, the threads, the periodic work. */
import { type KeyRing, keyRing } from '../accounts/key-ring.js'
import { type TemplateBook, templateBook } from '../content/template-book.js'
import { type DomainBook, domainBook } from '../domains/domain-book.js'
import { type ReceivingBook, receivingBook } from '../domains/receiving-book.js'
import { type KeyChain, keyChain } from '../domains/signing-keys.js'
import { SigningThread } from '../domains/signing-thread.js'
import { parseAddress } from '../mail/address.js'
import type { GoneDomain } from '../messages/fail-domain.js'
import { defaultMimeLimits, MimeReader } from '../messages/mime-parts.js'
import { studyModule } from '../receiving/spam/spam-study.js'
import type { Database } from '../storage/database.js'
import type { SuppressionBook } from '../suppressions/suppression-book.js'
import { type AudienceRemovals, audienceRemovals } from './audience-removals.js'
import { type Delivery, wireDelivery } from './delivery.js'
import { type DomainChecks, wireDomainChecks } from './domain-checks.js'
import { type DomainWalks, domainWalks } from './domain-walks.js'
import { systemEdges } from './edges.js'
import { startHousekeeping } from './housekeeping.js'
import { ensureIdentity, type Identity } from './identity.js'
import { type Limits, openLimits } from './limits.js'
import { type DaemonParts, type Ends, patience as usual } from './parts.js'
import { type People, wirePeople } from './people.js'
import { type Receiving, type ReceivingParts, wireReceiving } from './receiving.js'

export interface Rooms {
  readonly suppressions: SuppressionBook
  readonly identity: Identity
  readonly keyRing: KeyRing
  readonly domains: DomainBook
  readonly domainsOfAll: ReceivingBook
  readonly keys: KeyChain
  readonly signing: SigningThread
  readonly delivery: Delivery
  readonly receiving: Receiving
  readonly limits: Limits
  readonly mime: MimeReader
  readonly templates: TemplateBook
  readonly walks: DomainWalks
  readonly audienceRemovals: AudienceRemovals
  readonly domainChecks: DomainChecks
  readonly people: People
}

export async function openRooms(
  parts: DaemonParts,
  database: Database,
  suppressions: SuppressionBook,
  ends: Ends,
): Promise<Rooms> {
  const { config, clock, log, patience = usual } = parts
  const edges = { ...systemEdges(), ...parts.edges }
  const identity = await ensureIdentity(database, parseAddress(config.service.mail_from), clock())
  const keys = keyChain(database)
  const limits = openLimits({ config, log, database })
  ends.push(() => limits.stop())
  const signing = new SigningThread()
  ends.push(() => signing.stop())
  const delivery = wireDelivery({ config, clock, log, edges, database, identity, keys, signing })
  ends.push(() => delivery.stop(patience.delivery))
  ending(ends, startHousekeeping({ config, clock, log, database }))
  const mime = new MimeReader(defaultMimeLimits, studyModule)
  ends.push(() => mime.close())
  const walked = ({ workspaceId, domain }: GoneDomain): void => delivery.dropMailFrom(workspaceId, domain)
  const walks = ending(ends, domainWalks({ ...database, log, walked }))
  const removals = ending(ends, audienceRemovals({ ...database, log }))
  const people = ending(ends, wirePeople({ config, clock, log, database, identity, delivery }))
  const domainsOfAll = receivingBook(database)
  const offer: ReceivingParts['offer'] = (enqueued, raw) => delivery.runner.offer(enqueued, raw)
  const receiving = wireReceiving({ config, clock, log, edges, database, identity, domainsOfAll, mime, offer })
  ends.push(() => receiving.stop())
  const books = { domains: domainBook(database), domainsOfAll, keys, templates: templateBook(database) }
  const remembered = { keyRing: keyRing({ ...database, clock }), ...books }
  const changed = (place: DomainPlace): void => forgetDomain(remembered, place)
  const domainChecks = ending(ends, wireDomainChecks({ config, clock, log, edges, database, changed }))
  const engines = {
    signing,
    delivery,
    receiving,
    limits,
    mime,
    walks,
    domainChecks,
    people,
    audienceRemovals: removals,
  }
  return { ...remembered, ...engines, suppressions, identity }
}

/** The same, and it is ended with the rest. */
function ending<Room extends { readonly stop: () => Promise<void> }>(ends: Ends, room: Room): Room {
  ends.push(() => room.stop())
  return room
}

type DomainPlace = Pick<GoneDomain, 'workspaceId'> & { readonly domain: string }

/** A domain of ours has changed: what was remembered of it does not count any more, and nothing else is forgotten. */
export function forgetDomain(
  { domains, domainsOfAll, keys }: Pick<Rooms, 'domains' | 'domainsOfAll' | 'keys'>,
  { workspaceId, domain }: DomainPlace,
): void {
  domains.forget(workspaceId, domain)
  domainsOfAll.forget(domain)
  keys.forget(workspaceId, domain)
}

/** Somebody else changed keys, domains or the queue: nothing that was remembered counts any more. */
export function forgetAll(rooms: Rooms): void {
  rooms.keyRing.drop()
  rooms.domains.drop()
  rooms.domainsOfAll.drop()
  rooms.keys.drop()
  rooms.signing.forget()
  rooms.suppressions.drop()
  rooms.templates.drop()
  rooms.limits.plans.drop()
  rooms.delivery.runner.wake()
  rooms.domainChecks.wake()
}
