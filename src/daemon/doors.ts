/**
 * The doors, opened when everything behind them is there: REST, submission, MX, the service zone.
 *
 * They are closed together, before anything else: nothing new is acknowledged then.
 */

import type { Route } from '../api/http/route.js'
import type { ApiListener } from '../api/http/server/listener.js'
import type { ZoneListener } from '../dns/zone-listener.js'
import type { Log } from '../platform/log.js'
import type { TlsFiles } from '../platform/tls-files.js'
import { accept } from '../sending/accept.js'
import { type PrepareEmail, prepareEmail } from '../sending/prepare-email.js'
import { type Take, take } from '../sending/take.js'
import type { MxListener } from '../smtp/mx.js'
import type { SubmissionListener } from '../smtp/submission.js'
import type { Database } from '../storage/database.js'
import { openApi } from './api.js'
import { messageMemory } from './message-memory.js'
import { openMx } from './mx.js'
import { type DaemonParts, type Ends, patience as usual } from './parts.js'
import { forgetAll, forgetDomain, type Rooms } from './rooms.js'
import type { RouteParts } from './routes.js'
import { watchDisk } from './storage-watch.js'
import { openSubmission } from './submission.js'
import { openZone } from './zone.js'

export interface Doors {
  readonly submission: SubmissionListener
  readonly mx: MxListener
  readonly zone: ZoneListener
  readonly api: ApiListener
  readonly routes: readonly Route[]
  /** Somebody else changed the database. */
  readonly changed: () => void
  /** Each listener serves this certificate from its next handshake on. */
  readonly useCertificate: (tls: TlsFiles) => void
}

export async function openDoors(
  { config, clock, log, patience = usual }: DaemonParts,
  database: Database,
  tls: TlsFiles,
  rooms: Rooms,
  ends: Ends,
): Promise<Doors> {
  const open: Door[] = []
  ends.push(() => closeTogether(open, patience.door))
  const { keyRing, domains, delivery, receiving, limits, mime, templates, identity, domainChecks } = rooms
  const { hasRoom: mayTake, stop: stopLooking } = await watchDisk({ config, log })
  ends.push(stopLooking)
  const own = { config, clock, log, tls, keyRing, domains, mayTake, memory: messageMemory(config) }
  const api = await openApi({ ...own, database, limits })
  open.push(api.listener)
  await begin(rooms)
  const sending = sendingIn(own.config.service.hostname, database, rooms)
  const accepting = accept({ read: database.read, clock, ...sending })
  const submission = await openSubmission({ ...own, requests: limits.requests, accept: accepting })
  open.push(submission)
  const mx = await openMx({ ...own, receiving })
  open.push(mx)
  const zone = await openZone({ ...own, database })
  open.push(zone)
  const routes = api.serve({
    ...own,
    ...sending,
    ...ownActs(rooms, submission, log),
    database,
    limits,
    mime,
    templates,
    noticeDue: (workspaceId, at) => delivery.runner.noticeDue(workspaceId, at),
    identity,
    checking: domainChecks.checking,
  })
  const listeners = { submission, mx, zone, api: api.listener }
  const changed = (): void => forget(rooms, submission, log)
  return { ...listeners, routes, changed, useCertificate: (renewed) => serveCertificate(listeners, renewed) }
}

function serveCertificate({ submission, mx, api }: Pick<Doors, 'submission' | 'mx' | 'api'>, tls: TlsFiles): void {
  for (const listener of [submission, mx, api]) listener.updateSecureContext(tls)
}

/** Before anything is accepted: what was cut off is put in order while nothing new is under way. */
async function begin({ delivery, receiving, domainChecks, people, imports }: Rooms): Promise<void> {
  await delivery.runner.start()
  receiving.start()
  domainChecks.start()
  people.start()
  await imports.start()
}

type Door = Pick<ApiListener | SubmissionListener | MxListener | ZoneListener, 'stop'>

/** At once, in the order in which they were opened: none takes in anything while another waits for its clients. */
async function closeTogether(doors: readonly Door[], limit: number): Promise<void> {
  const outcomes = await Promise.allSettled(doors.map((door) => door.stop(limit)))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

function sendingIn(
  hostname: string,
  { read, commit }: Database,
  { suppressions: { isSuppressed }, domains, limits: { charge }, delivery: { runner } }: Rooms,
): { readonly prepare: PrepareEmail; readonly take: Take } {
  const claim = runner.claim.bind(runner)
  return {
    prepare: prepareEmail({ isSuppressed, hostname, verifiedDomain: domains.verified }),
    take: take({ read, commit, charge, claim, handOver: runner.offer.bind(runner) }),
  }
}

/** What we change ourselves costs nobody else what is remembered of theirs. */
function ownActs(
  rooms: Rooms,
  door: SubmissionListener,
  log: Log,
): Pick<
  RouteParts,
  'keyRevoked' | 'domainChanged' | 'domainDeleted' | 'audienceGone' | 'importBegun' | keyof PeopleActs
> {
  return {
    ...peopleActs(rooms, door, log),
    keyRevoked: (keyId) => {
      rooms.keyRing.forget(keyId)
      door.endSessions((principal) => principal.keyId === keyId)
    },
    domainChanged: (place) => forgetDomain(rooms, place),
    domainDeleted: (gone) => {
      forgetDomain(rooms, gone)
      rooms.walks.start(gone)
    },
    audienceGone: (audience) => rooms.audienceRemovals.start(audience),
    importBegun: (place) => rooms.imports.begin(place),
  }
}

type PeopleActs = Pick<RouteParts, 'accepting' | 'invited' | 'memberChanged' | 'workspaceClosed'>

/** Rare, so nothing is picked out: what is remembered of everybody is read once more. */
function peopleActs(rooms: Rooms, door: SubmissionListener, log: Log): PeopleActs {
  const { keyRing, people } = rooms
  return {
    accepting: people.accepting,
    invited: () => people.notices.notice(),
    memberChanged: ({ workspaceId, userId, removed }) => {
      keyRing.drop()
      if (removed) door.endSessions((principal) => principal.workspaceId === workspaceId && principal.userId === userId)
    },
    workspaceClosed: (workspaceId) => {
      forget(rooms, door, log)
      door.endSessions((principal) => principal.workspaceId === workspaceId)
      people.erasures.begin(workspaceId)
    },
  }
}

function forget(rooms: Rooms, door: SubmissionListener, log: Log): void {
  forgetAll(rooms)
  try {
    door.endSessions((principal) => !rooms.keyRing.stillValid(principal))
  } catch (error) {
    // The next command of any of these sessions asks again.
    log.error({ err: error }, 'keys cannot be read')
  }
}
