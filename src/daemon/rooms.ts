/** Everything behind the doors, built once: what is remembered, the queue, the threads, the periodic work. */
import { type KeyRing, keyRing } from '../accounts/keys/key-ring.js'
import { type TemplateBook, templateBook } from '../content/template-book.js'
import { type KeyChain, keyChain } from '../domains/dkim/signing-keys.js'
import { SigningThread } from '../domains/dkim/signing-thread.js'
import { type DomainBook, domainBook } from '../domains/domain-book.js'
import { type ReceivingBook, receivingBook } from '../domains/receiving-book.js'
import { type ImportRunner, importRunner } from '../imports/import-runner.js'
import { parseAddress } from '../mail/address.js'
import { defaultMimeLimits, MimeReader } from '../messages/mime/mime-parts.js'
import type { GoneDomain } from '../messages/queue/fail-domain.js'
import { studyModule } from '../spam/spam-study.js'
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
  readonly imports: ImportRunner
}

export async function openRooms(
  parts: DaemonParts,
  database: Database,
  suppressions: SuppressionBook,
  ends: Ends,
): Promise<Rooms> {
  const { config, clock, log } = parts
  const identity = await ensureIdentity(database, parseAddress(config.service.mail_from), clock())
  const own = { config, clock, log, edges: { ...systemEdges(), ...parts.edges }, database, identity }
  const books = openBooks(own)
  const limits = ending(ends, openLimits(own))
  const { inboundBytes } = limits
  const engines = openEngines({ ...own, ...books, inboundBytes }, ends, parts.patience ?? usual)
  const { delivery } = engines
  ending(ends, startHousekeeping(own))
  const walked = ({ workspaceId, domain }: GoneDomain): void => delivery.dropMailFrom(workspaceId, domain)
  const walks = ending(ends, domainWalks({ ...database, log, walked }))
  const removals = ending(ends, audienceRemovals({ ...database, log }))
  const people = ending(ends, wirePeople({ ...own, delivery }))
  const changed = (place: DomainPlace): void => forgetDomain(books, place)
  const domainChecks = ending(ends, wireDomainChecks({ ...own, changed }))
  const imports = ending(ends, importRunner({ ...database, clock, log }))
  const work = { walks, audienceRemovals: removals, people, domainChecks, imports }
  return { ...books, ...engines, ...work, limits, suppressions, identity }
}

/** What is remembered of keys, domains and templates. */
function openBooks({ clock, database }: Own): Books {
  return {
    keyRing: keyRing({ ...database, clock }),
    domains: domainBook(database),
    domainsOfAll: receivingBook(database),
    keys: keyChain(database),
    templates: templateBook(database),
  }
}

type Own = Pick<ReceivingParts, 'config' | 'clock' | 'log' | 'edges' | 'database' | 'identity'>
type Books = Pick<Rooms, 'keyRing' | 'domains' | 'domainsOfAll' | 'keys' | 'templates'>
type Engines = Pick<Rooms, 'signing' | 'delivery' | 'mime' | 'receiving'>

function openEngines(
  own: Own & Books & Pick<ReceivingParts, 'inboundBytes'>,
  ends: Ends,
  patience: NonNullable<DaemonParts['patience']>,
): Engines {
  const signing = ending(ends, new SigningThread())
  const delivery = wireDelivery({ ...own, signing })
  ends.push(() => delivery.stop(patience.delivery))
  const mime = new MimeReader(defaultMimeLimits, studyModule)
  ends.push(() => mime.close())
  const offer: ReceivingParts['offer'] = (enqueued, raw) => delivery.runner.offer(enqueued, raw)
  const receiving = ending(ends, wireReceiving({ ...own, mime, offer }))
  return { signing, delivery, mime, receiving }
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
  rooms.delivery.wake()
  rooms.domainChecks.wake()
}
