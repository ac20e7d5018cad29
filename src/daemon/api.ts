/**
 * Wires the REST door to the rooms below it.
 *
 * It opens before the queue is in order, so that whoever asks is told 503 and not that
 * nobody is there; `serve` gives it its routes.
 */
import { join } from 'node:path'
import { limitKey } from '../accounts/client-address.js'
import type { KeyRing } from '../accounts/keys/key-ring.js'
import { proxiesOf } from '../api/http/client-address.js'
import { bodyPace } from '../api/http/input/read-body.js'
import { largeAnswers } from '../api/http/output/large-answer.js'
import type { Route } from '../api/http/route.js'
import { doorTimes } from '../api/http/server/api-server.js'
import { type ApiApp, apiApp } from '../api/http/server/app.js'
import { Connections } from '../api/http/server/connections.js'
import { type ApiListener, listenForRequests } from '../api/http/server/listener.js'
import { readiness } from '../api/http/server/readiness.js'
import { reception } from '../api/http/visit.js'
import { openApiDocument } from '../api/openapi/openapi.js'
import type { Config } from '../config/complete.js'
import { uiPages } from '../pages/ui-pages.js'
import type { Clock } from '../platform/clock.js'
import { ClientLines } from '../platform/connections/client-lines.js'
import type { Log } from '../platform/log.js'
import { memoryBudget } from '../platform/memory/budget.js'
import { memoryShares } from '../platform/memory/shares.js'
import { openSpool, type Spool } from '../platform/spool-file.js'
import type { TlsFiles } from '../platform/tls-files.js'
import { version } from '../platform/version.js'
import type { Database } from '../storage/database.js'
import type { Limits } from './limits.js'
import type { MessageMemory } from './message-memory.js'
import { apiRoutes, type RouteParts } from './routes.js'
import { readinessProbe } from './storage-watch.js'

const MB = 1_048_576
/** Milliseconds after which a connection without a request gives way to another. */
const GIVES_WAY_AFTER = 10_000
/** Bytes of request bodies in memory: over all requests, and over those of one workspace. */
const BODIES = { all: 160 * MB, share: 120 * MB }
/** Bytes of large answers in memory, before they go to files; and how they go. */
const ANSWERS = { all: 128 * MB, share: 64 * MB, moment: 250, patience: 150_000, pace: 32_768 }
/** Bytes of large answers that are not read yet, in files too. */
const UNREAD = { all: 1_024 * MB, share: 256 * MB }
/** Answers in pieces that are under way, and the time to take a piece. */
const STREAMS = { all: 40, share: 4, milliseconds: 30_000 }

export interface ApiDoorParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly tls: TlsFiles
  readonly database: Database
  readonly keyRing: KeyRing
  readonly limits: Limits
  /** False: the disk is nearly full. */
  readonly mayTake: () => boolean
  readonly memory: Pick<MessageMemory, 'requests'>
}

export interface Api {
  readonly listener: ApiListener
  /** Answers the routes that it is given. */
  readonly serve: (parts: RouteParts) => readonly Route[]
}

export async function openApi(parts: ApiDoorParts): Promise<Api> {
  const { config, clock, log, tls } = parts
  const isProxy = proxiesOf(config.api.trusted_proxies)
  const lines = new ClientLines(log, limitKey)
  const connections = new Connections({
    isProxy,
    clock,
    maxConnections: config.api.max_connections,
    maxConnectionsPerAddress: config.api.max_connections_per_address,
    maxConnectionsPerNetwork: config.api.max_connections_per_network,
    givesWayAfter: GIVES_WAY_AFTER,
    note: (reason, client) => lines.info({ client, reason }, 'an API client was turned away'),
  })
  const spool = await openSpool(join(config.service.data_dir, 'answers'))
  const app = pipeline(parts, { connections, isProxy, lines, spool })
  const listener = await listenForRequests(config.api.listen, { app, connections, tls, times: doorTimes, log })
  return {
    listener,
    serve: (more) => {
      const routes = apiRoutes(more)
      const document = openApiDocument(routes, { version, server: config.service.public_url })
      app.serve(routes, JSON.stringify(document), uiPages({ accepting: more.accepting, document }))
      return routes
    },
  }
}

interface PipelineParts {
  readonly connections: Connections
  readonly isProxy: (address: string) => boolean
  readonly lines: ClientLines
  readonly spool: Spool
}

function pipeline(parts: ApiDoorParts, { connections, isProxy, lines, spool }: PipelineParts): ApiApp {
  const { clock, log, keyRing, mayTake, database } = parts
  const { requests, clients } = parts.limits
  const probe = (): Promise<void> => database.commit([readinessProbe(clock())])
  return apiApp({
    reception: reception({ keyRing, requests, clients, isProxy, clock }),
    ready: readiness({ hasRoom: mayTake, probe, clock }),
    peerOf: ({ socket }) => connections.peerOf(socket),
    memory: memoryShares(memoryBudget(BODIES.all, parts.memory.requests), BODIES.share),
    pace: bodyPace,
    answers: largeAnswers({
      ...ANSWERS,
      memory: memoryShares(memoryBudget(ANSWERS.all), ANSWERS.share),
      held: memoryShares(memoryBudget(UNREAD.all), UNREAD.share),
      spool,
    }),
    streaming: { places: memoryShares(memoryBudget(STREAMS.all), STREAMS.share), patience: STREAMS.milliseconds },
    clock,
    log,
    lines,
  })
}
