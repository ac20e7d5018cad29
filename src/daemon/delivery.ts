/** Wires the delivery engine: DNS, routes, kept sessions, signatures, the queue's runner. */
import type { Config } from '../config/complete.js'
import { type AttemptDeps, attempt } from '../delivery/attempt/attempt.js'
import { defaultAttemptLimits } from '../delivery/attempt/attempt-decision.js'
import { UnreachableHosts } from '../delivery/attempt/attempt-unreachable.js'
import { MessageShelf } from '../delivery/attempt/message-shelf.js'
import { notifySender } from '../delivery/attempt/notify-sender.js'
import { bareMessage, type ReadyDeps, readyMessage } from '../delivery/attempt/ready-message.js'
import { type SettleDeps, settleAttempt } from '../delivery/attempt/settle-attempt.js'
import { addressGuard } from '../delivery/hosts/address-guard.js'
import type { FindDestination } from '../delivery/hosts/destination.js'
import { destinationFinder } from '../delivery/hosts/mx-hosts.js'
import { routeTable } from '../delivery/hosts/routes.js'
import { attemptLimit } from '../delivery/queue/attempt-limit.js'
import { QueueRunner } from '../delivery/queue/queue-runner.js'
import type { RetryPolicy } from '../delivery/queue/retry-schedule.js'
import type { RunnerDeps } from '../delivery/queue/runner-deps.js'
import { defaultPoolSettings, SessionPool } from '../delivery/sessions/session-pool.js'
import { hostOpener } from '../delivery/sessions/session-pool-opening.js'
import { sourceAddress } from '../delivery/sessions/source-address.js'
import type { KeyChain } from '../domains/dkim/signing-keys.js'
import type { SigningThread } from '../domains/dkim/signing-thread.js'
import { parseAddress } from '../mail/address.js'
import type { Clock } from '../platform/clock.js'
import { defaultResolverSettings, openResolver } from '../platform/dns/resolver.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import type { Edges } from './edges.js'
import type { Identity } from './identity.js'

/** Bytes of fresh messages that wait in memory for their first attempt. */
const SHELF = 32 * 1_048_576

export interface DeliveryParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
  readonly identity: Identity
  readonly keys: KeyChain
  readonly signing: SigningThread
}

export interface Delivery {
  readonly runner: QueueRunner
  /** Somebody else changed the queue: all of it is looked at, and hosts that were unreachable are probed. */
  readonly wake: () => void
  /** Mail from this domain was taken out of the queue by us. */
  readonly dropMailFrom: (workspaceId: string, domain: string) => void
  /** Lets attempts finish within `limit` milliseconds, then ends the sessions. */
  readonly stop: (limit: number) => Promise<void>
}

export function wireDelivery(parts: DeliveryParts): Delivery {
  const { config, clock, log, database, identity, keys, signing } = parts
  const { read, commit } = database
  const ended = new AbortController()
  const shelf = new MessageShelf(SHELF)
  const unreachable = new UnreachableHosts()
  const pool = sessionPool(parts, unreachable)
  const sign: ReadyDeps['sign'] = (raw, key, now) => signing.sign(raw, key, now)
  const readying = { read, keys, sign, shelf, secret: identity.returnPathSecret }
  const runner: QueueRunner = new QueueRunner({
    read,
    commit,
    clock,
    log,
    shelf,
    ready: (entry, now) => readyMessage(readying, entry, now),
    bare: (entry) => bareMessage(readying, entry),
    findDestination: destinations(parts, ended.signal),
    reach: (hosts) => unreachable.reach(hosts, clock()),
    attempt: attempts(pool, clock),
    settle: settling(parts, (enqueued, raw) => runner.offer(enqueued, raw)),
    retryPolicy: retryPolicy(config),
    maxConnections: config.outbound.max_connections,
    maxConnectionsPerHost: config.outbound.max_connections_per_host,
  })
  return {
    runner,
    wake: () => {
      unreachable.endAll(clock())
      runner.wake()
    },
    dropMailFrom: (workspaceId, domain) => shelf.dropFrom(workspaceId, domain),
    stop: async (limit) => {
      await runner.stop(limit)
      ended.abort()
      await pool.close()
    },
  }
}

function destinations(
  { config: { outbound, service, dns }, clock, edges: { dice, resolver } }: DeliveryParts,
  signal: AbortSignal,
): FindDestination {
  return destinationFinder({
    resolver: resolver ?? openResolver({ ...defaultResolverSettings, servers: dns.servers }, clock, signal),
    routeFor: routeTable(outbound.routes),
    mayDial: addressGuard(outbound.allowed_private_networks),
    dice,
    port: outbound.port,
    ownNames: new Set([service.hostname]),
  })
}

function attempts(pool: SessionPool, clock: Clock): RunnerDeps['attempt'] {
  const limit = attemptLimit(defaultAttemptLimits.cutOff)
  return (message, to, { party, insists }, signal) => {
    const send: AttemptDeps['send'] = (host, what, until, begin) =>
      pool.send(host, what, party, until, { insists, begin })
    return attempt(message, to, { send, clock, limits: defaultAttemptLimits, limit }, signal)
  }
}

function settling(
  { config, clock, log, edges: { dice }, database: { read, commit } }: DeliveryParts,
  offer: SettleDeps['offer'],
): RunnerDeps['settle'] {
  const policy = retryPolicy(config)
  const { hostname, mail_from } = config.service
  const notices = notifySender({ hostname, mailFrom: parseAddress(mail_from), expireAfter: policy.expireAfter })
  return settleAttempt({ read, commit, clock, dice, log, policy, notifySender: notices, offer })
}

function sessionPool(
  { config: { outbound, service }, clock, edges: { dialer, timeouts } }: DeliveryParts,
  unreachable: UnreachableHosts,
): SessionPool {
  const open = hostOpener({
    dialer,
    helloName: service.hostname,
    timeouts,
    sourceAddress: sourceAddress(outbound.source_addresses),
    clock,
    unreachable,
  })
  return new SessionPool(open, {
    ...defaultPoolSettings,
    connections: outbound.max_connections,
    connectionsPerHost: outbound.max_connections_per_host,
  })
}

function retryPolicy({ outbound }: Config): RetryPolicy {
  const [first, ...others] = outbound.retry_schedule
  if (first === undefined) throw new Error('outbound.retry_schedule is empty')
  return { steps: [first, ...others], noticeAfter: outbound.delay_notice_after, expireAfter: outbound.expire_after }
}
