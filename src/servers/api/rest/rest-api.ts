/**
 * The REST interface with its listener: limits of connections, of memory and of large answers, and the pipeline.
 *
 * It opens before the queue is ready, so that clients get 503 instead of a refused connection; `serve` gives it its
 * routes.
 */
import { join } from 'node:path'
import type { ReadSettings, StartSettings } from '../../../base/config/live-config.js'
import type { Clock } from '../../../base/platform/clock.js'
import { addressKeyOf } from '../../../base/platform/connections/client-address.js'
import { ClientLog } from '../../../base/platform/connections/client-log.js'
import { isInSomeNetwork } from '../../../base/platform/ip-address.js'
import type { Log } from '../../../base/platform/log.js'
import { MemoryBudget } from '../../../base/platform/memory/budget.js'
import { openSpool, type Spool } from '../../../base/platform/spool-file.js'
import type { ListenerTls } from '../../../base/platform/tls-files.js'
import type { Database } from '../../../base/storage/db/database.js'
import type { ChallengeAnswers } from '../../../operations/certificates/challenge-answers.js'
import type { Observers } from '../../../operations/monitoring/monitoring.js'
import { readinessProbe } from '../../../operations/upkeep/storage-watch.js'
import type { ApiKeyCache } from '../../../workspaces/accounts/keys/api-key-cache.js'
import type { WorkspaceLimits } from '../../../workspaces/accounts/limits/workspace-limits.js'
import type { PolicyFinder } from '../../../workspaces/domains/mta-sts/find-policy.js'
import { nameOfLargeBody } from '../bodies/large-bodies.js'
import { Connections } from '../http/context/connections.js'
import { KeyIdentities } from '../http/context/request-identity.js'
import { BodyThread } from '../http/input/body-thread.js'
import { MAX_BODY } from '../http/input/json-body.js'
import { bodyPace } from '../http/input/read-body.js'
import { LargeAnswers } from '../http/output/large-answer.js'
import { AnswerSender } from '../http/output/send-answer.js'
import { AccessLog } from '../http/pipeline/access-log.js'
import { ApiApp } from '../http/pipeline/api-app.js'
import { Readiness } from '../http/pipeline/readiness.js'
import { listenerTimeouts } from '../http/server/api-server.js'
import { ApiListener } from '../http/server/listener.js'
import { Validations } from '../http/server/validations.js'

const MB = 1_048_576
/** Milliseconds after which a connection without a request may be evicted. */
const EVICTABLE_AFTER = 10_000
/** Bytes of the bodies of one owner in memory: one of the largest, and small ones beside it. Others have 1 MB left. */
const BODY_SHARE = MAX_BODY + MB
/** Bytes of large answers in memory, milliseconds after which they go to files, and the client's minimum pace. */
const ANSWER_LIMITS = { all: 128 * MB, share: 64 * MB, spoolAfter: 250, patience: 150_000, pace: 32_768 }
/** Bytes of large answers that are not read yet, files included. */
const UNREAD_ANSWER_LIMITS = { all: 1_024 * MB, share: 256 * MB }
/** Streamed answers under way, and the time that a client has for a piece. */
const STREAM_LIMITS = { all: 40, share: 4, milliseconds: 30_000 }

interface RestApiDeps {
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
  /** The memory of all listeners. */
  readonly memory: { readonly requests: MemoryBudget }
  readonly observers: Observers | null
  readonly policies: PolicyFinder
}

export class RestApi {
  private constructor(
    readonly listener: ApiListener,
    private readonly app: ApiApp,
    private readonly bodies: BodyThread,
  ) {}

  static async open(deps: RestApiDeps): Promise<RestApi> {
    const { config, settings, log, tls } = deps
    const isProxy = (address: string): boolean => isInSomeNetwork(settings().api.trusted_proxies, address)
    const lines = new ClientLog(log, addressKeyOf)
    const connections = admitConnections(deps, isProxy, lines)
    const spool = await openSpool(join(config.service.data_dir, 'answers'))
    const bodies = new BodyThread()
    const app = buildApp(deps, { connections, isProxy, lines, spool, bodies })
    const validations = new Validations(deps.challengeAnswers, listenerTimeouts.handshake)
    const serverDeps = { app, connections, tls, validations, timeouts: listenerTimeouts, log }
    return new RestApi(await ApiListener.open(config.api.listen, serverDeps), app, bodies)
  }

  /** Begins to answer requests. */
  serve(served: Parameters<ApiApp['serve']>[0]): void {
    this.app.serve(served)
  }

  /** Call it first when the daemon stops, with the milliseconds that requests under way have to end. */
  async drain(limit: number): Promise<void> {
    await this.listener.drain(limit)
    await this.bodies.stop()
  }
}

function admitConnections(
  { settings, clock, observers }: RestApiDeps,
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

function buildApp(deps: RestApiDeps, { connections, isProxy, lines, spool, bodies }: AppDeps): ApiApp {
  const { clock, log, apiKeyCache, hasDiskSpace, database, policies, limits } = deps
  const probe = (): Promise<void> => database.commit([readinessProbe(clock())], { isProbe: true })
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
    readiness: new Readiness(hasDiskSpace, probe, clock, () => database.node.state() !== 'working'),
    accessLog: new AccessLog(log, lines, clock),
    memory: limits.shareByOwner(deps.memory.requests, BODY_SHARE),
    pace: bodyPace,
    bodies: { nameOf: nameOfLargeBody, thread: bodies },
    onRequest: deps.observers?.onRequest,
    ...{ connections, sender, clock, log, policies },
  })
}
