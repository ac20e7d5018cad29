/**
 * Opens the listeners when everything behind them is ready: REST, submission, MX, and the service zone.
 *
 * They are closed together, before anything else, so that nothing new is acknowledged.
 */
import type { ApiListener } from '../api/http/server/listener.js'
import type { ZoneListener } from '../dns/zone-listener.js'
import type { DomainName } from '../mail/address.js'
import type { Log } from '../platform/log.js'
import type { TlsFiles } from '../platform/tls-files.js'
import { acceptSubmission } from '../sending/accept-submission.js'
import { type CommitEmails, createEmailCommitter } from '../sending/commit-emails.js'
import { createEmailPreparer, type PrepareEmail } from '../sending/prepare-email.js'
import type { FindVerifiedDomain } from '../sending/sender-policy.js'
import type { MxListener } from '../smtp/mx/mx-listener.js'
import type { SubmissionListener } from '../smtp/submission/submission-listener.js'
import type { Database } from '../storage/database.js'
import { type BeginTracking, createEmailTracker } from '../tracking/track-email.js'
import { createTrackingHost, type TrackingBaseFor } from '../tracking/tracking-host.js'
import { openApiListener, type ServedRoutes } from './api-listener.js'
import type { RouteDeps } from './api-routes.js'
import type { Certificates } from './certificates.js'
import { type DaemonOptions, defaultStopTimeouts, type StopSteps } from './daemon-options.js'
import { createMessageMemory } from './message-memory.js'
import { openMxListener } from './mx-listener.js'
import { wireOperator } from './operator.js'
import { forgetAll, forgetDomain, type Services } from './services.js'
import { watchDisk } from './storage-watch.js'
import { openSubmissionListener } from './submission-listener.js'
import { openZoneListener } from './zone-listener.js'

export interface Listeners extends ServedRoutes {
  readonly submission: SubmissionListener
  readonly mx: MxListener
  readonly zone: ZoneListener
  readonly api: ApiListener
  /** To be called after a foreign commit. */
  readonly onForeignChange: () => void
  /** Each listener serves this certificate from its next handshake on. */
  readonly useCertificate: (tls: TlsFiles) => void
  /** The certificate that clients get who name no other. */
  readonly served: Pick<TlsFiles, 'cert'>
}

type ListenerCertificates = Pick<Certificates, 'listenerTls' | 'answers' | 'servesName'>

export async function openListeners(
  { config, clock, log, logTail, stopTimeouts = defaultStopTimeouts, uiFolder }: DaemonOptions,
  database: Database,
  { listenerTls: tls, answers: challengeAnswers, servesName }: ListenerCertificates,
  services: Services,
  stopSteps: StopSteps,
): Promise<Listeners> {
  const open: Listener[] = []
  const served = { cert: tls.cert }
  stopSteps.push(() => stopListeners(open, stopTimeouts.listeners))
  const { apiKeyCache, domains, receiving, limits, mime, templates, identity, domainChecks, sms, delivery } = services
  const hasDiskSpace = await startDiskWatch({ config, log }, stopSteps)
  const common = { config, clock, log, tls, apiKeyCache, domains, hasDiskSpace, memory: createMessageMemory(config) }
  const api = await openApiListener({ ...common, challengeAnswers, database, limits, uiFolder })
  open.push(api.listener)
  await startServices(services, hasDiskSpace)
  const sending = wireSending({ config, clock, served, servesName }, database, services)
  const acceptMessage = acceptSubmission({ read: database.read, clock, ...sending })
  const submission = await openSubmissionListener({ ...common, requests: limits.requests, accept: acceptMessage })
  open.push(submission)
  const mx = await openMxListener({ ...common, receiving })
  open.push(mx)
  const zone = await openZoneListener({ ...common, database })
  open.push(zone)
  const listeners = { submission, mx, zone, api: api.listener }
  const operator = wireOperator({ ...common, logTail, database, served, listeners, onQueueChanged: delivery.wake })
  stopSteps.push(operator.stop)
  const routes = api.serve({
    ...common,
    ...sending,
    ...changeCallbacks(services, submission, log),
    ...{ database, limits, mime, templates, identity, sms, operator },
    recordHit: (hit) => services.hits.record(hit),
    certificateOf: () => served.cert,
    rotationDeps: domainChecks.rotationDeps,
  })
  const onForeignChange = (): void => refreshCachesAndSessions(services, submission, log)
  const useCertificate = (renewed: TlsFiles): void => serve(listeners, renewed, served)
  return { ...listeners, ...routes, onForeignChange, useCertificate, served }
}

async function startDiskWatch(
  deps: Pick<DaemonOptions, 'config' | 'log'>,
  stopSteps: StopSteps,
): Promise<() => boolean> {
  const { hasRoom, stop } = await watchDisk(deps)
  stopSteps.push(stop)
  return hasRoom
}

/** `served`: becomes this certificate too. */
function serve(
  { submission, mx, api }: Pick<Listeners, 'submission' | 'mx' | 'api'>,
  tls: TlsFiles,
  served: { cert: string },
): void {
  for (const listener of [submission, mx, api]) listener.updateSecureContext(tls)
  served.cert = tls.cert
}

/** Before anything is accepted: interrupted work is recovered while nothing new is under way. */
async function startServices(
  { delivery, receiving, domainChecks, people, imports, exports, webhooks, broadcasts, sms }: Services,
  hasDiskSpace: () => boolean,
): Promise<void> {
  broadcasts.holdBack()
  await delivery.runner.start()
  receiving.start()
  domainChecks.start()
  people.start()
  webhooks.start()
  broadcasts.start(hasDiskSpace)
  await imports.start()
  await exports.start()
  await sms.start()
}

type Listener = Pick<ApiListener | SubmissionListener | MxListener | ZoneListener, 'stop'>

/** All at the same time: none accepts anything while another waits for its clients. */
async function stopListeners(listeners: readonly Listener[], limit: number): Promise<void> {
  const outcomes = await Promise.allSettled(listeners.map((listener) => listener.stop(limit)))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

interface SendingDeps extends Pick<DaemonOptions, 'config' | 'clock'> {
  /** The certificate that is served now. */
  readonly served: Pick<TlsFiles, 'cert'>
  readonly servesName: (name: DomainName) => boolean
}

interface Sending {
  readonly prepare: PrepareEmail
  readonly findVerifiedDomain: FindVerifiedDomain
  readonly commitEmails: CommitEmails
  readonly beginTracking: BeginTracking
  readonly trackingBaseFor: TrackingBaseFor
}

function wireSending(
  { config: { service, api }, clock, served, servesName }: SendingDeps,
  { read, commit }: Database,
  { suppressions: { isSuppressed }, domains, limits: { charge }, delivery: { runner } }: Services,
): Sending {
  const { hostname, public_url: publicUrl } = service
  const claim = runner.claim.bind(runner)
  const servesTls = api.listen.some(({ kind }) => kind === 'tls')
  const certificateOf = (): string => served.cert
  const trackingBaseFor = createTrackingHost({ publicUrl, servesTls, certificateOf, servesName, clock })
  const beginTracking = createEmailTracker({ trackingBaseFor, publicUrl })
  const findVerifiedDomain = domains.findVerified
  return {
    prepare: createEmailPreparer({ isSuppressed, hostname, findVerifiedDomain, beginTracking }),
    findVerifiedDomain,
    commitEmails: createEmailCommitter({ read, commit, charge, claim, handOver: runner.offer.bind(runner) }),
    beginTracking,
    trackingBaseFor,
  }
}

type ChangeCallbacks = Pick<
  RouteDeps,
  | 'onDueChanged'
  | 'onKeyRevoked'
  | 'onDomainChanged'
  | 'onDomainDeleted'
  | 'onAudienceDeleted'
  | 'onBroadcastChanged'
  | 'onImportStarted'
  | 'onExportRequested'
  | 'onWebhookChanged'
  | 'onWebhookDeleted'
  | keyof PeopleCallbacks
>

/** A change of this process drops only what is cached of the changed thing. */
function changeCallbacks(services: Services, submission: SubmissionListener, log: Log): ChangeCallbacks {
  return {
    ...peopleCallbacks(services, submission, log),
    onDueChanged: (workspaceId, at) => services.delivery.runner.markDue(workspaceId, at),
    onKeyRevoked: (keyId) => {
      services.apiKeyCache.forget(keyId)
      submission.endSessions((principal) => principal.keyId === keyId)
    },
    onDomainChanged: (domain) => forgetDomain(services, domain),
    onDomainDeleted: (domain) => {
      forgetDomain(services, domain)
      services.deletedDomains.start(domain)
    },
    onAudienceDeleted: (audience) => services.deletedAudiences.start(audience),
    onBroadcastChanged: () => services.broadcasts.wake(),
    onImportStarted: (importRef) => services.imports.begin(importRef),
    onExportRequested: (ref) => services.exports.begin(ref),
    onWebhookChanged: (webhook) => services.webhooks.refresh(webhook),
    onWebhookDeleted: (webhook) => {
      services.webhooks.refresh(webhook)
      return services.deletedWebhooks.start(webhook)
    },
  }
}

type PeopleCallbacks = Pick<
  RouteDeps,
  'acceptDeps' | 'accountDeps' | 'checkSession' | 'onInvited' | 'onMemberChanged' | 'onWorkspaceClosed'
>

/** These changes are rare, so they drop all keys from the cache. */
function peopleCallbacks(services: Services, submission: SubmissionListener, log: Log): PeopleCallbacks {
  const { apiKeyCache, people } = services
  return {
    acceptDeps: people.acceptDeps,
    accountDeps: people.accountDeps,
    checkSession: people.checkSession,
    onInvited: () => people.notices.wake(),
    onMemberChanged: ({ workspaceId, userId, removed }) => {
      apiKeyCache.drop()
      if (removed)
        submission.endSessions((principal) => principal.workspaceId === workspaceId && principal.userId === userId)
    },
    onWorkspaceClosed: (workspaceId) => {
      refreshCachesAndSessions(services, submission, log)
      submission.endSessions((principal) => principal.workspaceId === workspaceId)
      services.webhooks.closeWorkspace(workspaceId)
      people.erasures.begin(workspaceId)
    },
  }
}

function refreshCachesAndSessions(services: Services, submission: SubmissionListener, log: Log): void {
  forgetAll(services)
  try {
    submission.endSessions((principal) => !services.apiKeyCache.isStillValid(principal))
  } catch (error) {
    // Each session checks its key again at its next message.
    log.error({ err: error }, 'keys cannot be read')
  }
}
