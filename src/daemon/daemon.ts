/**
 * The daemon: everything is built once, here, and ended in the opposite order.
 *
 * Stopping closes the doors first, both at once, so that nothing new is acknowledged; then
 * attempts finish or are released; then the database closes. Whatever was acknowledged is on
 * disk before any of that.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type KeyRing, keyRing } from '../accounts/key-ring.js'
import type { ApiEndpoint, ApiListener } from '../api/listener.js'
import type { Route } from '../api/route.js'
import type { Config } from '../config/complete.js'
import { type DomainBook, domainBook } from '../domains/domain-book.js'
import { type KeyChain, keyChain } from '../domains/signing-keys.js'
import { SigningThread } from '../domains/signing-thread.js'
import { parseAddress } from '../mail/address.js'
import type { GoneDomain } from '../messages/fail-domain.js'
import { MimeReader } from '../messages/mime-parts.js'
import type { Clock } from '../platform/clock.js'
import { diskSpace } from '../platform/disk-space.js'
import type { Log } from '../platform/log.js'
import { loadTls, type TlsFiles } from '../platform/tls-files.js'
import { accept } from '../sending/accept.js'
import { prepareEmail } from '../sending/prepare-email.js'
import { take } from '../sending/take.js'
import type { BoundEndpoint } from '../smtp/listening.js'
import type { SubmissionListener } from '../smtp/submission.js'
import { lockDataFolder } from '../storage/data-lock.js'
import type { Database } from '../storage/database.js'
import { diskGuard } from '../storage/disk-guard.js'
import { openDatabase } from '../storage/open.js'
import { type SuppressionBook, suppressionBook } from '../suppressions/suppression-book.js'
import { openApi } from './api.js'
import { type Delivery, wireDelivery } from './delivery.js'
import { type DomainWalks, domainWalks } from './domain-walks.js'
import { type Edges, systemEdges } from './edges.js'
import { startHousekeeping } from './housekeeping.js'
import { ensureIdentity, type Identity } from './identity.js'
import { type Limits, openLimits } from './limits.js'
import type { RouteParts } from './routes.js'
import { openSubmission } from './submission.js'

/** What clients get to finish, and then attempts: together less than systemd's patience. */
const PATIENCE = { door: 5_000, delivery: 20_000 }

export interface DaemonParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  /** For a test that wants another world. */
  readonly edges?: Partial<Edges>
  readonly patience?: typeof PATIENCE
}

export interface Daemon {
  readonly submission: readonly BoundEndpoint[]
  readonly api: readonly ApiEndpoint[]
  readonly routes: readonly Route[]
  readonly tls: TlsFiles
  readonly database: Database
  readonly stop: () => Promise<void>
}

/** Where the database of a data folder lies. */
export function databaseFile(dataDir: string): string {
  return join(dataDir, 'posthorn.db')
}

type Ends = (() => Promise<void> | void)[]

export async function startDaemon(parts: DaemonParts): Promise<Daemon> {
  const { config, clock, log } = parts
  const folder = config.service.data_dir
  const ends: Ends = []
  const stop = (): Promise<void> => endAll(ends, log)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const lock = lockDataFolder(folder)
    ends.push(() => lock.release())
    const opened = await openDatabase({ file: databaseFile(folder) })
    ends.push(() => opened.close())
    const suppressions = suppressionBook(opened)
    const database = { ...opened, commit: suppressions.watch(opened.commit) }
    const tls = await certificate(config, clock())
    const rooms = { suppressions, ...(await openRooms(parts, database, ends)) }
    const doors = await openDoors(parts, database, tls, rooms, ends)
    database.onForeignCommit(doors.changed)
    return {
      submission: doors.submission.endpoints,
      api: doors.api.endpoints,
      routes: doors.routes,
      tls,
      database,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What cannot be ended in good order must not keep the rest from being ended. */
async function endAll(ends: Ends, log: Log): Promise<void> {
  for (const end of ends.splice(0).reverse()) {
    try {
      await end()
    } catch (error) {
      log.error({ err: error }, 'stopping went wrong')
    }
  }
}

interface Rooms {
  readonly suppressions: SuppressionBook
  readonly keyRing: KeyRing
  readonly domains: DomainBook
  readonly keys: KeyChain
  readonly signing: SigningThread
  readonly delivery: Delivery
  readonly limits: Limits
  readonly mime: MimeReader
  readonly walks: DomainWalks
  readonly identity: Identity
}

async function openRooms(parts: DaemonParts, database: Database, ends: Ends): Promise<Omit<Rooms, 'suppressions'>> {
  const { config, clock, log, patience = PATIENCE } = parts
  const edges = { ...systemEdges(), ...parts.edges }
  const identity = await ensureIdentity(database, parseAddress(config.service.mail_from), clock())
  const keys = keyChain(database)
  const limits = openLimits({ config, log, database })
  ends.push(() => limits.stop())
  const signing = new SigningThread()
  ends.push(() => signing.stop())
  const delivery = wireDelivery({ config, clock, log, edges, database, identity, keys, signing })
  ends.push(() => delivery.stop(patience.delivery))
  const housekeeping = startHousekeeping({ config, clock, log, database })
  ends.push(() => housekeeping.stop())
  const mime = new MimeReader()
  ends.push(() => mime.close())
  const walked = ({ workspaceId, domain }: GoneDomain): void => delivery.dropMailFrom(workspaceId, domain)
  const walks = domainWalks({ ...database, log, walked })
  ends.push(() => walks.stop())
  const remembered = { keyRing: keyRing({ ...database, clock }), domains: domainBook(database), keys, signing }
  return { ...remembered, delivery, limits, mime, walks, identity }
}

interface Doors {
  readonly submission: SubmissionListener
  readonly api: ApiListener
  readonly routes: readonly Route[]
  /** Somebody else changed keys, domains or the queue: nothing that was remembered counts any more. */
  readonly changed: () => void
}

async function openDoors(
  { config, clock, log, patience = PATIENCE }: DaemonParts,
  database: Database,
  tls: TlsFiles,
  rooms: Rooms,
  ends: Ends,
): Promise<Doors> {
  const open: Door[] = []
  ends.push(() => closeTogether(open, patience.door))
  const { keyRing, domains, delivery, limits, mime, suppressions, identity } = rooms
  const { read, commit } = database
  const { hasRoom: mayTake } = await diskGuard({ path: config.service.data_dir, clock, space: diskSpace })
  const own = { config, clock, log, tls, keyRing, domains, mayTake }
  const api = await openApi({ ...own, database, limits })
  open.push(api.listener)
  // Before anything is accepted: what was cut off is put in order while nothing new is under way.
  await delivery.runner.start()
  const { hostname } = config.service
  const { isSuppressed } = suppressions
  const prepare = prepareEmail({ isSuppressed, hostname, verifiedDomain: domains.verified })
  const { charge, requests } = limits
  const { runner } = delivery
  const claim = runner.claim.bind(runner)
  const taking = take({ read, commit, charge, claim, handOver: runner.offer.bind(runner) })
  const submission = await openSubmission({ ...own, requests, accept: accept({ read, clock, prepare, take: taking }) })
  open.push(submission)
  const changed = (): void => forget(rooms, submission, log)
  const noticeDue: RouteParts['noticeDue'] = (workspaceId, at) => delivery.runner.noticeDue(workspaceId, at)
  const sending = { prepare, take: taking }
  const acts = ownActs(rooms, submission)
  const routes = api.serve({ ...own, ...sending, ...acts, database, limits, mime, noticeDue, identity })
  return { submission, api: api.listener, routes, changed }
}

type Door = Pick<ApiListener | SubmissionListener, 'stop'>

/** At once, in the order in which they were opened: none takes in anything while another waits for its clients. */
async function closeTogether(doors: readonly Door[], limit: number): Promise<void> {
  const outcomes = await Promise.allSettled(doors.map((door) => door.stop(limit)))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

/** What we change ourselves costs nobody else what is remembered of theirs. */
function ownActs(
  { keyRing, domains, keys, walks }: Rooms,
  door: SubmissionListener,
): Pick<RouteParts, 'keyRevoked' | 'domainChanged' | 'domainDeleted'> {
  return {
    keyRevoked: (keyId) => {
      keyRing.forget(keyId)
      door.endSessions((principal) => principal.keyId === keyId)
    },
    domainChanged: ({ workspaceId, domain }) => domains.forget(workspaceId, domain),
    domainDeleted: (gone) => {
      domains.forget(gone.workspaceId, gone.domain)
      keys.forget(gone.workspaceId, gone.domain)
      walks.start(gone)
    },
  }
}

function forget(
  { keyRing, domains, keys, signing, delivery, limits, suppressions }: Rooms,
  door: SubmissionListener,
  log: Log,
): void {
  keyRing.drop()
  domains.drop()
  keys.drop()
  signing.forget()
  suppressions.drop()
  limits.plans.drop()
  delivery.runner.wake()
  try {
    door.endSessions((principal) => !keyRing.stillValid(principal))
  } catch (error) {
    // The next command of any of these sessions asks again.
    log.error({ err: error }, 'keys cannot be read')
  }
}

function certificate({ service, tls }: Config, now: number): Promise<TlsFiles> {
  const configured =
    tls.cert_file === null || tls.key_file === null ? null : { certFile: tls.cert_file, keyFile: tls.key_file }
  return loadTls(configured, { folder: join(service.data_dir, 'tls'), hostname: service.hostname, now })
}
