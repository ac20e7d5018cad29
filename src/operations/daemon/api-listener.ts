/**
 * Wires the REST listener to the rooms below it.
 *
 * It opens before the queue is ready, so that clients get 503 instead of a refused connection; `serve` gives it its
 * routes.
 */
import { join } from 'node:path'
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import { addressKeyOf } from '../../base/platform/connections/client-address.js'
import { ClientLog } from '../../base/platform/connections/client-log.js'
import { isInSomeNetwork } from '../../base/platform/ip-address.js'
import type { Log } from '../../base/platform/log.js'
import { MemoryBudget } from '../../base/platform/memory/budget.js'
import { runOnce } from '../../base/platform/run-once.js'
import { openSpool, type Spool } from '../../base/platform/spool-file.js'
import type { ListenerTls } from '../../base/platform/tls-files.js'
import { version } from '../../base/platform/version.js'
import type { Database } from '../../base/storage/db/database.js'
import { nameOfLargeBody } from '../../servers/api/bodies/large-bodies.js'
import { Connections } from '../../servers/api/http/context/connections.js'
import { KeyIdentities } from '../../servers/api/http/context/request-identity.js'
import { BodyThread } from '../../servers/api/http/input/body-thread.js'
import { bodyPace } from '../../servers/api/http/input/read-body.js'
import { LargeAnswers } from '../../servers/api/http/output/large-answer.js'
import { AnswerSender } from '../../servers/api/http/output/send-answer.js'
import { AccessLog } from '../../servers/api/http/pipeline/access-log.js'
import { ApiApp } from '../../servers/api/http/pipeline/api-app.js'
import { Readiness } from '../../servers/api/http/pipeline/readiness.js'
import type { Route } from '../../servers/api/http/route/route.js'
import { listenerTimeouts } from '../../servers/api/http/server/api-server.js'
import { ApiListener } from '../../servers/api/http/server/listener.js'
import { Validations } from '../../servers/api/http/server/validations.js'
import { buildOpenApiDocument } from '../../servers/api/openapi/openapi.js'
import { appFolder, loadAppFiles } from '../../servers/pages/app-files.js'
import { UiPages } from '../../servers/pages/ui-pages.js'
import type { ApiKeyCache } from '../../workspaces/accounts/keys/api-key-cache.js'
import type { WorkspaceLimits } from '../../workspaces/accounts/limits/workspace-limits.js'
import type { PolicyFinder } from '../../workspaces/domains/mta-sts/find-policy.js'
import type { ChallengeAnswers } from '../certificates/challenge-answers.js'
import type { Observers } from '../monitoring/monitoring.js'
import { readinessProbe } from '../upkeep/storage-watch.js'
import { buildApiRoutes, type RouteParts } from './api-routes.js'
import { wireBrowserApi } from './browser-api.js'
import type { MessageMemory } from './message-memory.js'

const MB = 1_048_576
/** Milliseconds after which a connection without a request may be evicted. */
const EVICTABLE_AFTER = 10_000
/** Bytes of request bodies in memory, in total and per workspace. */
const BODY_LIMITS = { all: 160 * MB, share: 120 * MB }
/** Bytes of large answers in memory, milliseconds after which they go to files, and the client's minimum pace. */
const ANSWER_LIMITS = { all: 128 * MB, share: 64 * MB, spoolAfter: 250, patience: 150_000, pace: 32_768 }
/** Bytes of large answers that are not read yet, files included. */
const UNREAD_ANSWER_LIMITS = { all: 1_024 * MB, share: 256 * MB }
/** Streamed answers under way, and the time that a client has for a piece. */
const STREAM_LIMITS = { all: 40, share: 4, milliseconds: 30_000 }

interface ApiDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly tls: ListenerTls
  readonly challengeAnswers: ChallengeAnswers
  readonly database: Database
  readonly apiKeyCache: ApiKeyCache
  readonly limits: WorkspaceLimits
  /** False if the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
  readonly memory: Pick<MessageMemory, 'requests'>
  readonly observers: Observers | null
  readonly policies: PolicyFinder
  /** The files of the dashboard. Undefined if they are where the build puts them. */
  readonly uiFolder: string | undefined
}

interface Api {
  readonly listener: ApiListener
  /** Call it first when the daemon stops, with the milliseconds that requests under way have to end. */
  readonly drain: (limit: number) => Promise<void>
  /** Begins to answer requests; returns the routes. */
  readonly serve: (parts: RouteParts) => ServedRoutes
}

export interface ServedRoutes {
  readonly routes: readonly Route[]
  /** The routes of people in a browser. */
  readonly browserRoutes: readonly Route[]
}

export async function openApiListener(deps: ApiDeps): Promise<Api> {
  const { config, settings, log, tls } = deps
  const isProxy = (address: string): boolean => isInSomeNetwork(settings().api.trusted_proxies, address)
  const lines = new ClientLog(log, addressKeyOf)
  const connections = admitConnections(deps, isProxy, lines)
  const spool = await openSpool(join(config.service.data_dir, 'answers'))
  const files = config.ui.enabled ? await loadAppFiles(deps.uiFolder ?? appFolder) : null
  const bodies = new BodyThread()
  const app = buildApp(deps, { connections, isProxy, lines, spool, bodies })
  const validations = new Validations(deps.challengeAnswers, listenerTimeouts.handshake)
  const serverDeps = { app, connections, tls, validations, timeouts: listenerTimeouts, log }
  const listener = await ApiListener.open(config.api.listen, serverDeps)
  return {
    listener,
    drain: async (limit) => {
      await listener.drain(limit)
      await bodies.stop()
    },
    serve: (parts) => {
      const routes = buildApiRoutes(parts)
      const buildDocument = (): object => buildOpenApiDocument(routes, { version, server: config.service.public_url })
      const pages = new UiPages({ acceptDeps: parts.people.acceptDeps, buildDocument, files })
      const browser = config.ui.enabled ? wireBrowserApi(parts) : undefined
      const readDocument = runOnce(() => JSON.stringify(buildDocument()))
      app.serve({ routes, readDocument, pages, browser })
      return { routes, browserRoutes: browser?.routes ?? [] }
    },
  }
}

function admitConnections(
  { settings, clock, observers }: ApiDeps,
  isProxy: (address: string) => boolean,
  lines: ClientLog,
): Connections {
  const observer = observers?.observeListener('rest')
  return new Connections({
    limits: () => settings().api,
    ...{ isProxy, clock, givesWayAfter: EVICTABLE_AFTER },
    onEntered: () => observer?.onSession(),
    onShortage: (reason, client) => {
      observer?.onTurnedAway(turnAwayReasons[reason])
      lines.info({ client, reason }, 'an API client was turned away')
    },
  })
}

/** The names are those of the SMTP listeners. */
const turnAwayReasons = {
  full: 'connections',
  'too-many-of-address': 'connections-of-address',
  'too-many-of-network': 'connections-of-network',
  idle: 'idle',
} as const

interface AppDeps {
  readonly connections: Connections
  readonly isProxy: (address: string) => boolean
  readonly lines: ClientLog
  readonly spool: Spool
  readonly bodies: BodyThread
}

function buildApp(deps: ApiDeps, { connections, isProxy, lines, spool, bodies }: AppDeps): ApiApp {
  const { clock, log, apiKeyCache, hasDiskSpace, database, policies, limits } = deps
  const probe = (): Promise<void> => database.commit([readinessProbe(clock())])
  const answers = new LargeAnswers({
    ...ANSWER_LIMITS,
    memory: limits.shareByOwner(new MemoryBudget(ANSWER_LIMITS.all), ANSWER_LIMITS.share),
    held: limits.shareByOwner(new MemoryBudget(UNREAD_ANSWER_LIMITS.all), UNREAD_ANSWER_LIMITS.share),
    spool,
  })
  const sender = new AnswerSender(answers, {
    slots: limits.shareByOwner(new MemoryBudget(STREAM_LIMITS.all), STREAM_LIMITS.share),
    patience: STREAM_LIMITS.milliseconds,
    pace: ANSWER_LIMITS.pace,
  })
  return new ApiApp({
    keys: new KeyIdentities(apiKeyCache, limits, isProxy, clock),
    readiness: new Readiness(hasDiskSpace, probe, clock),
    accessLog: new AccessLog(log, lines, clock),
    memory: limits.shareByOwner(new MemoryBudget(BODY_LIMITS.all, deps.memory.requests), BODY_LIMITS.share),
    pace: bodyPace,
    bodies: { nameOf: nameOfLargeBody, thread: bodies },
    onRequest: deps.observers?.onRequest,
    ...{ connections, sender, clock, log, policies },
  })
}
