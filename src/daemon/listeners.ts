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
import { acceptSubmission } from '../sending/accept-submission.js'
import { type CommitEmails, commitEmails } from '../sending/commit-emails.js'
import { type PrepareEmail, prepareEmail } from '../sending/prepare-email.js'
import type { MxListener } from '../smtp/mx/mx-listener.js'
import type { SubmissionListener } from '../smtp/submission/submission-listener.js'
import type { Database } from '../storage/database.js'
import { openApiListener } from './api.js'
import { type DaemonParts, defaultStopTimeouts, type StopSteps } from './daemon-parts.js'
import { messageMemory } from './message-memory.js'
import { openMx } from './mx.js'
import { forgetAll, forgetDomain, type Rooms } from './rooms.js'
import type { RouteParts } from './routes.js'
import { watchDisk } from './storage-watch.js'
import { openSubmission } from './submission.js'
import { openZone } from './zone.js'

export interface Listeners {
  readonly submission: SubmissionListener
  readonly mx: MxListener
  readonly zone: ZoneListener
  readonly api: ApiListener
  readonly routes: readonly Route[]
  /** Somebody else changed the database. */
  readonly onForeignChange: () => void
  /** Each listener serves this certificate from its next handshake on. */
  readonly useCertificate: (tls: TlsFiles) => void
}

export async function openListeners(
  { config, clock, log, stopTimeouts = defaultStopTimeouts }: DaemonParts,
  database: Database,
  tls: TlsFiles,
  rooms: Rooms,
  stopSteps: StopSteps,
): Promise<Listeners> {
  const open: Listener[] = []
  stopSteps.push(() => stopListeners(open, stopTimeouts.listeners))
  const { keyRing, domains, delivery, receiving, limits, mime, templates, identity, domainChecks } = rooms
  const { hasRoom: mayTake, stop: stopLooking } = await watchDisk({ config, log })
  stopSteps.push(stopLooking)
  const own = { config, clock, log, tls, keyRing, domains, mayTake, memory: messageMemory(config) }
  const api = await openApiListener({ ...own, database, limits })
  open.push(api.listener)
  await startRooms(rooms)
  const sending = wireSending(own.config.service.hostname, database, rooms)
  const acceptMessage = acceptSubmission({ read: database.read, clock, ...sending })
  const submission = await openSubmission({ ...own, requests: limits.requests, accept: acceptMessage })
  open.push(submission)
  const mx = await openMx({ ...own, receiving })
  open.push(mx)
  const zone = await openZone({ ...own, database })
  open.push(zone)
  const routes = api.serve({
    ...own,
    ...sending,
    ...changeCallbacks(rooms, submission, log),
    database,
    limits,
    mime,
    templates,
    noticeDue: (workspaceId, at) => delivery.runner.markDue(workspaceId, at),
    identity,
    rotationDeps: domainChecks.rotationDeps,
  })
  const listeners = { submission, mx, zone, api: api.listener }
  const onForeignChange = (): void => refreshCachesAndSessions(rooms, submission, log)
  return { ...listeners, routes, onForeignChange, useCertificate: (renewed) => serveCertificate(listeners, renewed) }
}

function serveCertificate({ submission, mx, api }: Pick<Listeners, 'submission' | 'mx' | 'api'>, tls: TlsFiles): void {
  for (const listener of [submission, mx, api]) listener.updateSecureContext(tls)
}

/** Before anything is accepted: what was cut off is put in order while nothing new is under way. */
async function startRooms({ delivery, receiving, domainChecks, people, imports }: Rooms): Promise<void> {
  await delivery.runner.start()
  receiving.start()
  domainChecks.start()
  people.start()
  await imports.start()
}

type Listener = Pick<ApiListener | SubmissionListener | MxListener | ZoneListener, 'stop'>

/** At once, in the order in which they were opened: none takes in anything while another waits for its clients. */
async function stopListeners(listeners: readonly Listener[], limit: number): Promise<void> {
  const outcomes = await Promise.allSettled(listeners.map((door) => door.stop(limit)))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

function wireSending(
  hostname: string,
  { read, commit }: Database,
  { suppressions: { isSuppressed }, domains, limits: { charge }, delivery: { runner } }: Rooms,
): { readonly prepare: PrepareEmail; readonly commitEmails: CommitEmails } {
  const claim = runner.claim.bind(runner)
  return {
    prepare: prepareEmail({ isSuppressed, hostname, findVerifiedDomain: domains.findVerified }),
    commitEmails: commitEmails({ read, commit, charge, claim, handOver: runner.offer.bind(runner) }),
  }
}

/** What we change ourselves costs nobody else what is remembered of theirs. */
function changeCallbacks(
  rooms: Rooms,
  submission: SubmissionListener,
  log: Log,
): Pick<
  RouteParts,
  | 'onKeyRevoked'
  | 'onDomainChanged'
  | 'onDomainDeleted'
  | 'onAudienceDeleted'
  | 'onImportStarted'
  | keyof PeopleCallbacks
> {
  return {
    ...peopleCallbacks(rooms, submission, log),
    onKeyRevoked: (keyId) => {
      rooms.keyRing.forget(keyId)
      submission.endSessions((principal) => principal.keyId === keyId)
    },
    onDomainChanged: (place) => forgetDomain(rooms, place),
    onDomainDeleted: (gone) => {
      forgetDomain(rooms, gone)
      rooms.walks.start(gone)
    },
    onAudienceDeleted: (audience) => rooms.audienceRemovals.start(audience),
    onImportStarted: (place) => rooms.imports.begin(place),
  }
}

type PeopleCallbacks = Pick<RouteParts, 'acceptDeps' | 'onInvited' | 'onMemberChanged' | 'onWorkspaceClosed'>

/** Rare, so nothing is picked out: what is remembered of everybody is read once more. */
function peopleCallbacks(rooms: Rooms, submission: SubmissionListener, log: Log): PeopleCallbacks {
  const { keyRing, people } = rooms
  return {
    acceptDeps: people.acceptDeps,
    onInvited: () => people.notices.wake(),
    onMemberChanged: ({ workspaceId, userId, removed }) => {
      keyRing.drop()
      if (removed)
        submission.endSessions((principal) => principal.workspaceId === workspaceId && principal.userId === userId)
    },
    onWorkspaceClosed: (workspaceId) => {
      refreshCachesAndSessions(rooms, submission, log)
      submission.endSessions((principal) => principal.workspaceId === workspaceId)
      people.erasures.begin(workspaceId)
    },
  }
}

function refreshCachesAndSessions(rooms: Rooms, submission: SubmissionListener, log: Log): void {
  forgetAll(rooms)
  try {
    submission.endSessions((principal) => !rooms.keyRing.isStillValid(principal))
  } catch (error) {
    // The next command of any of these sessions asks again.
    log.error({ err: error }, 'keys cannot be read')
  }
}
