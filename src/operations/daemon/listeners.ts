/**
 * Opens the listeners when everything behind them is ready: REST, submission, MX, and the service zone.
 *
 * They stop together, before anything else, so that nothing new is acknowledged. The sockets of REST stay open until the
 * services have stopped: `/readyz` answers 503 while the last attempts end.
 */

import { runOnce } from '../../base/platform/run-once.js'
import type { TlsFiles } from '../../base/platform/tls-files.js'
import type { Database } from '../../base/storage/db/database.js'
import { ComposeThread } from '../../outbound/sending/compose-thread.js'
import { Changes } from '../../servers/api/changes.js'
import type { ApiListener } from '../../servers/api/http/server/listener.js'
import { RestApi } from '../../servers/api/rest/rest-api.js'
import type { ZoneListener } from '../../servers/dns/zone-listener.js'
import { appFolder, loadAppFiles } from '../../servers/pages/app-files.js'
import type { MxListener } from '../../servers/smtp/mx/mx-listener.js'
import type { SubmissionListener } from '../../servers/smtp/submission/submission-listener.js'
import type { Certificates } from '../certificates/certificates.js'
import { startStatusFile } from '../upkeep/status-file.js'
import type { RouteParts } from './api-routes.js'
import { type DaemonOptions, defaultStopTimeouts, type StartOptions, type StopSteps } from './daemon-options.js'
import { MessageMemory } from './message-memory.js'
import { type Operator, wireOperator } from './operator.js'
import { wireSending } from './sending.js'
import { type ServedRoutes, serveRoutes } from './serve-routes.js'
import type { Services } from './services.js'
import { openMxListener, openSubmissionListener } from './smtp-listeners.js'
import { openZoneListener, type PublishedZone } from './zone-listener.js'

export interface Listeners extends ServedRoutes {
  readonly submission: SubmissionListener
  readonly mx: MxListener
  readonly zone: PublishedZone
  readonly api: ApiListener
  /** Call it after a foreign commit. */
  readonly onForeignChange: Changes['madeElsewhere']
  /** Each listener serves this certificate from its next handshake on. */
  readonly useCertificate: (tls: TlsFiles) => void
  readonly watched: Watched
  /** Stops all of them at the same time; a further call waits for the first. */
  readonly stop: () => Promise<void>
  /** The certificate that clients get who name no other. */
  readonly served: Pick<TlsFiles, 'cert'>
}

/** New mail belongs to other nodes. */
function isDraining({ node }: Pick<Database, 'node'>): boolean {
  return node.state() !== 'working'
}

interface ListenerSteps {
  readonly stopSteps: StopSteps
  /** Taken when the services have stopped. */
  readonly lateSteps: StopSteps
}

/** The numbers that the metrics read. */
interface Watched extends Pick<Operator, 'readCensus'> {
  readonly memory: MessageMemory
  readonly hasDiskSpace: () => boolean
  /** PEM, of the certificate that is served now. */
  readonly certificateOf: () => string
  readonly countApiConnections: () => number
}

export async function openListeners(
  options: StartOptions,
  database: Database,
  certificates: Certificates,
  services: Services,
  { stopSteps, lateSteps }: ListenerSteps,
): Promise<Listeners> {
  const { config, settings, clock, log, logs, logTail, uiFolder, observers } = options
  const { listeners: stopTimeout } = options.stopTimeouts ?? defaultStopTimeouts
  const { listenerTls: tls, answers: challengeAnswers } = certificates
  const open: Listener[] = []
  const served = { cert: tls.cert }
  const certificateOf = (): string => served.cert
  const stop = runOnce(() => stopListeners(open, stopTimeout))
  const composing = startComposing(services.workspaces.ownerOf, stopSteps, stop)
  const { apiKeyCache, domains, policies, limits, receiving, disk } = services
  const hasDiskSpace = disk.hasRoom
  const memory = new MessageMemory(settings)
  const rooms = { apiKeyCache, domains, hasDiskSpace, memory, observers, policies }
  const common = { config, settings, clock, log, tls, isDraining: () => isDraining(database), ...rooms }
  const files = config.ui.enabled ? await loadAppFiles(uiFolder ?? appFolder) : null
  const api = await RestApi.open({ ...common, log: logs.of('api'), challengeAnswers, database, limits })
  open.push({ stop: (limit) => api.drain(limit) })
  lateSteps.push(() => api.listener.close())
  await startServices(services, database, hasDiskSpace)
  const sending = wireSending({ config, clock, served, certificates }, database, services, composing)
  const behind = { logs, database, requests: limits.requests, acceptor: sending.acceptor, composing, receiving, disk }
  const others = await openOtherListeners({ ...common, ...behind }, open)
  const listeners = { ...others, api: api.listener }
  const operator = await openOperator({ ...common, logTail, database, served, listeners }, services, stopSteps)
  const changes = new Changes(services, others.submission, database, log)
  const parts = { ...common, ...database, ...services, ...sending, operator, changes, certificateOf }
  return {
    ...{ ...listeners, ...serveRoutes(api, { ...parts, ...listPorts(listeners) }, files), served, stop },
    onForeignChange: (changed) => changes.madeElsewhere(changed),
    useCertificate: (renewed) => serve(listeners, renewed, served),
    watched: {
      memory,
      hasDiskSpace,
      certificateOf,
      readCensus: operator.readCensus,
      countApiConnections: () => api.listener.connections(),
    },
  }
}

function listPorts({
  submission,
  api,
}: Pick<Listeners, 'submission' | 'api'>): Pick<RouteParts, 'smtpEndpoints' | 'apiPorts'> {
  const apiPorts = api.endpoints.flatMap((endpoint) => (endpoint.kind === 'tls' ? [endpoint.port] : []))
  return { smtpEndpoints: submission.endpoints, apiPorts }
}

/** It ends after the listeners, because their requests wait for it: steps are taken in reverse. */
function startComposing(
  ownerOf: (workspaceId: string) => string,
  stopSteps: StopSteps,
  stopListening: () => Promise<void>,
): ComposeThread {
  const composing = new ComposeThread(ownerOf)
  stopSteps.push(() => composing.stop(), stopListening)
  return composing
}

/** Adds each to `open` at once, so that it is closed if a later one cannot be opened. */
async function openOtherListeners(
  deps: Parameters<typeof openSubmissionListener>[0] &
    Parameters<typeof openMxListener>[0] &
    Parameters<typeof openZoneListener>[0] &
    Pick<StartOptions, 'logs'>,
  open: Listener[],
): Promise<Pick<Listeners, 'submission' | 'mx' | 'zone'>> {
  const smtp = { ...deps, log: deps.logs.of('smtp') }
  const submission = await openSubmissionListener(smtp)
  open.push(submission)
  const mx = await openMxListener(smtp)
  open.push(mx)
  const zone = await openZoneListener({ ...deps, log: deps.logs.of('dns') })
  open.push(zone)
  return { submission, mx, zone }
}

type OperatorDeps = Omit<Parameters<typeof wireOperator>[0], 'onQueueChanged' | 'runDoctor' | 'listeners'> &
  Pick<DaemonOptions, 'log'> & { readonly listeners: Pick<Listeners, 'submission' | 'mx' | 'api' | 'zone'> }

async function openOperator(
  deps: OperatorDeps,
  { delivery, doctor }: Pick<Services, 'delivery' | 'doctor'>,
  stopSteps: StopSteps,
): Promise<Operator> {
  const operator = await wireOperator({
    ...deps,
    onQueueChanged: () => delivery.refresh(),
    runDoctor: () => doctor.run(),
  })
  stopSteps.push(operator.stop)
  const { config, clock, log, database, listeners } = deps
  const { submission, mx, api } = listeners
  const status = await startStatusFile({
    ...{ folder: config.service.data_dir, clock, log, node: database.node },
    readProcess: operator.readProcess,
    countCommits: database.countCommits,
    countAttempts: () => delivery.runner.countTurns(),
    countSessions: () => ({ submission: submission.connections(), mx: mx.connections(), api: api.connections() }),
  })
  stopSteps.push(status.stop)
  return operator
}

/** `served` becomes this certificate too. */
function serve(
  { submission, mx, api }: Pick<Listeners, 'submission' | 'mx' | 'api'>,
  tls: TlsFiles,
  served: { cert: string },
): void {
  for (const listener of [submission, mx, api]) listener.updateSecureContext(tls)
  served.cert = tls.cert
}

/** Recovers interrupted work while nothing new is under way, before anything is accepted. */
async function startServices(
  { delivery, receiving, leaderWork, webhooks, broadcasts, sms, doctor, breaker }: Services,
  { node }: Pick<Database, 'node'>,
  hasDiskSpace: () => boolean,
): Promise<void> {
  await broadcasts.holdBack()
  await delivery.start()
  await receiving.start()
  webhooks.start()
  broadcasts.start(hasDiskSpace)
  breaker.start()
  await leaderWork.start()
  await sms.start(node)
  doctor.start()
}

type Listener = Pick<SubmissionListener | MxListener | ZoneListener, 'stop'>

/** Stops all at the same time, so that none accepts anything while another waits for its clients. */
async function stopListeners(listeners: readonly Listener[], limit: number): Promise<void> {
  const outcomes = await Promise.allSettled(listeners.map((listener) => listener.stop(limit)))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
