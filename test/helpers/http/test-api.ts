/**
 * The REST listener alone, on real sockets, with routes of a test: no database behind it, and time limits short
 * enough to wait for.
 */

import { pino } from 'pino'
import type { Test } from 'tap'
import { z } from 'zod'
import { Refusal } from '../../../src/base/mail/refusal.js'
import { systemClock } from '../../../src/base/platform/clock.js'
import { addressKeyOf } from '../../../src/base/platform/connections/client-address.js'
import { ClientLog } from '../../../src/base/platform/connections/client-log.js'
import { isInSomeNetwork } from '../../../src/base/platform/ip-address.js'
import { MemoryBudget } from '../../../src/base/platform/memory/budget.js'
import { MemoryShares } from '../../../src/base/platform/memory/shares.js'
import { openSpool, type Spool } from '../../../src/base/platform/spool-file.js'
import { json } from '../../../src/servers/api/http/answer.js'
import { Connections } from '../../../src/servers/api/http/context/connections.js'
import { KeyIdentities } from '../../../src/servers/api/http/context/request-identity.js'
import { MAX_BODY } from '../../../src/servers/api/http/input/json-body.js'
import { type BodyPace, bodyPace } from '../../../src/servers/api/http/input/read-body.js'
import { LargeAnswers } from '../../../src/servers/api/http/output/large-answer.js'
import { AnswerSender } from '../../../src/servers/api/http/output/send-answer.js'
import { AccessLog } from '../../../src/servers/api/http/pipeline/access-log.js'
import { ApiApp } from '../../../src/servers/api/http/pipeline/api-app.js'
import { Readiness } from '../../../src/servers/api/http/pipeline/readiness.js'
import { type Route, type RouteSpec, route } from '../../../src/servers/api/http/route/route.js'
import { type ListenerTimeouts, listenerTimeouts } from '../../../src/servers/api/http/server/api-server.js'
import { type ApiEndpoint, ApiListener } from '../../../src/servers/api/http/server/listener.js'
import type { Principal } from '../../../src/workspaces/accounts/access/principal.js'
import { RateLimit } from '../../../src/workspaces/accounts/limits/rate-limit.js'
import { type Certificate, createSelfSigned } from '../certificates.js'
import { networks } from '../config-values.js'
import { temporaryFolder } from '../database/database.js'
import { openWire, type Wire, type WireAddress, type WireAnswer } from './wire.js'

export interface TestApiOptions {
  readonly listen?: readonly ApiEndpoint[]
  readonly routes?: readonly Route[]
  readonly times?: Partial<ListenerTimeouts>
  readonly trustedProxies?: readonly string[]
  readonly maxConnections?: number
  readonly maxConnectionsPerAddress?: number
  readonly maxConnectionsPerNetwork?: number
  readonly givesWayAfter?: number
  /** Requests a minute of the workspace, and of an address without a key. */
  readonly requests?: number
  readonly unauthenticatedRequests?: number
  /** Requests a minute of an address for what is open to all. */
  readonly openRequests?: number
  readonly memory?: MemoryBudget
  /** Memory for bodies of each workspace. */
  readonly share?: number
  readonly pace?: Partial<BodyPace>
  /** Memory for large answers. */
  readonly answers?: MemoryBudget
  readonly unread?: MemoryBudget
  readonly answerLimit?: number
  readonly spoolFolder?: string
  /** Milliseconds until the unread rest of an answer goes to a file. */
  readonly answerMoment?: number
  /** Streamed answers at once. */
  readonly streamSlots?: number
  /** Milliseconds for a piece of a streamed answer. */
  readonly streamPatience?: number
  /** Bytes a second that a client must read of a file. */
  readonly streamPace?: number
  readonly hasRoom?: () => boolean
  readonly probe?: () => Promise<void>
  readonly clock?: () => number
  /** Called for every key; throws for a revoked one. */
  readonly keyCheck?: (secret: string) => void
  /** False: it has no routes yet. */
  readonly serving?: boolean
}

export interface TestApi {
  readonly app: ApiApp
  readonly listener: ApiListener
  readonly connections: Connections
  readonly certificate: Certificate
  readonly serve: () => void
  /** All log lines, debug lines included. */
  readonly log: readonly LogLine[]
  /** A TLS connection to the first endpoint, or one to somewhere else. */
  readonly connect: (where?: WireAddress) => Promise<Wire>
  /** The endpoint at that place of the list. */
  readonly port: (at?: number) => number
  /** One request on a connection of its own. */
  readonly ask: (line: string, ...fields: readonly string[]) => Promise<WireAnswer>
}

interface LogLine {
  readonly level: number
  readonly msg: string
  readonly [key: string]: unknown
}

/** Messages that every client may cause. */
const clientMessages: ReadonlySet<string> = new Set(['request', 'a login failed', 'an API client was turned away'])

/** Log lines above debug, without those that every client may cause. */
export function findFaults(log: readonly LogLine[]): readonly LogLine[] {
  return log.filter(({ level, msg }) => level > 20 && !clientMessages.has(msg))
}

const principal: Principal = {
  workspaceId: 'ws_own',
  keyId: 'key-1',
  userId: 'user-1',
  role: 'owner',
  scopes: ['full'],
  allowedDomains: [],
  sender: null,
}

const keys: Readonly<Record<string, Principal>> = {
  ph_own: principal,
  ph_other_workspace: { ...principal, workspaceId: 'ws_other' },
  ph_reader: { ...principal, scopes: ['read'] },
}
export const withKey = 'Authorization: Bearer ph_own'

/** A route of a test; absent parts do not matter to it. */
export function testRoute<Query, Body>(
  spec: Partial<RouteSpec<Query, Body>> & Pick<RouteSpec<Query, Body>, 'method' | 'path' | 'run'>,
): Route {
  const common = { area: 'send', tag: 'test', summary: 'test', answers: {}, refusals: [], maxBody: MAX_BODY } as const
  return route<Query, Body>({ ...common, ...spec })
}

export const testRoutes: readonly Route[] = [
  testRoute({ method: 'GET', path: '/things', run: ({ remoteAddress }) => json(200, { remoteAddress }) }),
  testRoute({
    method: 'POST',
    path: '/things',
    body: z.strictObject({ text: z.string() }),
    run: ({ body }) => json(201, { length: body.text.length }),
  }),
  testRoute({
    method: 'GET',
    path: '/things/search',
    query: z.strictObject({ word: z.string().optional() }),
    run: ({ query }) => json(200, query),
  }),
  testRoute({ method: 'GET', path: '/things/:id', run: ({ params }) => json(200, params) }),
  testRoute({ method: 'POST', path: '/things/:id/poke', run: ({ params }) => json(200, params) }),
]

let certificate: Promise<Certificate> | undefined

export async function startTestApi(t: Pick<Test, 'teardown'>, options: TestApiOptions = {}): Promise<TestApi> {
  certificate ??= createSelfSigned(['localhost', '127.0.0.1'])
  const tls = await certificate
  const { listen = [{ kind: 'tls', host: '127.0.0.1', port: 0 }], times = {}, routes = testRoutes } = options
  const lines: LogLine[] = []
  const log = pino({ level: 'debug' }, { write: (line) => lines.push(JSON.parse(line) as LogLine) })
  const isProxy = (address: string): boolean => isInSomeNetwork(networks(...(options.trustedProxies ?? [])), address)
  const { maxConnections = 100, maxConnectionsPerAddress = 100 } = options
  const clientLines = new ClientLog(log, addressKeyOf)
  const connections = new Connections({
    isProxy,
    clock: options.clock ?? systemClock,
    limits: () => ({
      max_connections: maxConnections,
      max_connections_per_address: maxConnectionsPerAddress,
      max_connections_per_network: options.maxConnectionsPerNetwork ?? 100,
    }),
    givesWayAfter: options.givesWayAfter ?? 10_000,
    onShortage: (reason, client) => clientLines.info({ client, reason }, 'an API client was turned away'),
  })
  const spool = await openSpool(options.spoolFolder ?? temporaryFolder(t))
  const app = buildApp(options, { connections, isProxy, log, lines: clientLines, spool })
  const deps = { app, connections, tls, log, timeouts: { ...listenerTimeouts, checkInterval: 10, ...times } }
  const listener = await ApiListener.open(listen, deps)
  t.teardown(() => listener.close())
  const serve = (): void => app.serve({ routes, readDocument: () => '{}' })
  if (options.serving !== false) serve()
  const port = (at = 0): number => {
    const endpoint = listener.endpoints[at]
    if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no port there')
    return endpoint.port
  }
  const connect = (where: WireAddress = { port: port(), ca: tls.cert }): Promise<Wire> => openWire(t, where)
  return {
    app,
    listener,
    connections,
    certificate: tls,
    serve,
    log: lines,
    connect,
    port,
    ask: async (line, ...fields) => {
      const client = await connect()
      client.send(request(line, ...fields))
      const answer = await client.answer(line.startsWith('HEAD') ? 'head' : undefined)
      client.socket.destroy()
      return answer
    },
  }
}

interface AppParts {
  readonly connections: Connections
  readonly log: pino.Logger
  readonly lines: ClientLog
  readonly isProxy: (address: string) => boolean
  readonly spool: Spool
}

function buildApp(options: TestApiOptions, { connections, isProxy, log, lines, spool }: AppParts): ApiApp {
  const { requests = 1000, unauthenticatedRequests = 1000, openRequests = 1000, clock = systemClock } = options
  const keyCheck = {
    authenticate: async (secret: string): Promise<Principal> => {
      options.keyCheck?.(secret)
      return keys[secret] ?? refuseKey()
    },
  }
  const limits = {
    requests: new RateLimit({ limitsOf: () => ({ requests_per_minute: requests }) }),
    clients: new RateLimit({ limitsOf: () => ({ requests_per_minute: unauthenticatedRequests }) }),
    open: new RateLimit({ limitsOf: () => ({ requests_per_minute: openRequests }) }),
  }
  const answers = new LargeAnswers({
    memory: new MemoryShares(options.answers ?? new MemoryBudget(100_000_000), Number.POSITIVE_INFINITY),
    held: new MemoryShares(options.unread ?? new MemoryBudget(1_000_000_000), Number.POSITIVE_INFINITY),
    spool,
    spoolAfter: options.answerMoment ?? 60_000,
    patience: options.answerLimit ?? 60_000,
    pace: 1_000_000_000,
  })
  const { hasRoom = () => true, probe = () => Promise.resolve(), streamSlots = 2 } = options
  return new ApiApp({
    keys: new KeyIdentities(keyCheck, limits, isProxy, clock),
    bodies: { nameOf: () => null, thread: { parse: () => Promise.reject(new Error('there is no thread for bodies')) } },
    readiness: new Readiness(hasRoom, probe, clock, () => false),
    policies: { find: async () => ({ kind: 'none' }) },
    memory: new MemoryShares(
      options.memory ?? new MemoryBudget(100_000_000),
      options.share ?? Number.POSITIVE_INFINITY,
    ),
    pace: { ...bodyPace, ...options.pace },
    sender: new AnswerSender(answers, {
      slots: new MemoryShares(new MemoryBudget(streamSlots), streamSlots),
      patience: options.streamPatience ?? 1_000,
      pace: options.streamPace ?? 1_000_000_000,
    }),
    accessLog: new AccessLog(log, lines, clock),
    ...{ connections, clock, log },
  })
}

function refuseKey(): never {
  throw new Refusal('bad-credentials', 'the key is wrong or revoked')
}

/** `GET /v1/things` with fields; a body follows if the last of them begins with a line end. */
export function request(line: string, ...fields: readonly string[]): string {
  return [`${line} HTTP/1.1`, 'Host: localhost', ...fields, '', ''].join('\r\n')
}

export function post(path: string, body: string, ...fields: readonly string[]): string {
  const about = ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]
  return `${request(`POST ${path}`, withKey, ...about, ...fields)}${body}`
}
