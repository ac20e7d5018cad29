/** Wires delivery: DNS, routes, the session pool, signatures, and the queue runner. */
import type { Config } from '../config/complete.js'
import { followSetting, readEachTime } from '../config/follow-setting.js'
import { type AttemptDeps, attemptDelivery } from '../delivery/attempt/attempt.js'
import { defaultAttemptLimits } from '../delivery/attempt/attempt-decision.js'
import { createCallLimiter } from '../delivery/attempt/call-limit.js'
import { isLeftOut, type LeaveOutDeps, leaveOut } from '../delivery/attempt/leave-out.js'
import { MessageCache } from '../delivery/attempt/message-cache.js'
import { buildMinimalMessage, prepareMessage, type ReadyDeps } from '../delivery/attempt/ready-message.js'
import { createSenderNoticeBuilder } from '../delivery/attempt/sender-notice-builder.js'
import { createAttemptSettler, type SettleDeps } from '../delivery/attempt/settle-attempt.js'
import type { FindDestination } from '../delivery/hosts/destination.js'
import { createDestinationFinder } from '../delivery/hosts/mx-hosts.js'
import { createRouteFinder } from '../delivery/hosts/routes.js'
import { createSteadyRandom } from '../delivery/hosts/steady-random.js'
import { UnreachableHosts } from '../delivery/hosts/unreachable-hosts.js'
import { QueueRunner } from '../delivery/queue/queue-runner.js'
import type { RetryPolicy } from '../delivery/queue/retry-schedule.js'
import type { RunnerDeps } from '../delivery/queue/runner-deps.js'
import { createSessionOpener, createSourceAddressChooser } from '../delivery/sessions/session-opener.js'
import { defaultPoolSettings, SessionPool } from '../delivery/sessions/session-pool.js'
import { Paces } from '../delivery/shaping/paces.js'
import type { SigningKeyCache } from '../domains/dkim/signing-keys.js'
import type { SigningThread } from '../domains/dkim/signing-thread.js'
import type { ServiceIdentity } from '../domains/service-identity.js'
import type { DomainName } from '../mail/address.js'
import { HoldRuleRunner } from '../messages/queue/hold-rule-runner.js'
import type { Observers } from '../monitoring/monitoring.js'
import { createAddressGuard } from '../platform/address-guard.js'
import type { Clock } from '../platform/clock.js'
import { defaultResolverSettings, openResolver } from '../platform/dns/resolver.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import type { SuppressionCache } from '../suppressions/suppression-cache.js'
import type { Edges } from './edges.js'

/** Bytes of new messages that wait in memory for their first attempt. */
const MESSAGE_CACHE_BYTES = 32 * 1_048_576

interface DeliveryDeps {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
  readonly identity: ServiceIdentity
  readonly signingKeys: SigningKeyCache
  readonly signing: SigningThread
  readonly suppressions: SuppressionCache
  readonly observers: Observers | null
}

export interface Delivery {
  readonly runner: QueueRunner
  readonly holdRules: HoldRuleRunner
  /** To be called after a foreign commit: hold rules and the queue are read again, and unreachable hosts are probed. */
  readonly wake: () => void
  /** To be called when this process has removed the domain's mail from the queue. */
  readonly dropMailFrom: (workspaceId: string, domain: string) => void
  /** Lets attempts finish within `limit` milliseconds, then closes the sessions. */
  readonly stop: (limit: number) => Promise<void>
}

export function wireDelivery(deps: DeliveryDeps): Delivery {
  const { config, clock, log, identity, signingKeys, signing, database } = deps
  const { read, commit } = database
  const [abortController, messageCache] = [new AbortController(), new MessageCache(MESSAGE_CACHE_BYTES)]
  const [unreachable, paces] = [new UnreachableHosts(), wirePaces(deps)]
  const pool = createSessionPool(deps, unreachable, paces)
  const signBytes: ReadyDeps['signBytes'] = (...job) => signing.sign(...job)
  const readyDeps = { read, signingKeys, signBytes, messageCache, secret: identity.returnPathSecret }
  const holdRules = new HoldRuleRunner({ read, commit, clock, log, onReleased: () => runner.wake() })
  const fixed: Omit<RunnerDeps, 'maxConnections' | 'maxConnectionsPerHost'> = {
    ...{ read, commit, clock, log, messageCache, paces },
    prepareMessage: (entry, now) => prepareMessage(readyDeps, entry, now),
    buildMinimalMessage: (entry) => buildMinimalMessage(readyDeps, entry),
    findDestination: findDestinationOf(deps, abortController.signal),
    checkReachability: (hosts) => unreachable.checkReachability(hosts, clock()),
    ...wireLeaveOut(deps),
    ...wireHoldRules(holdRules),
    ...{ attempt: createAttempt(pool, clock), retryPolicy: retryPolicyOf(config) },
    settle: createSettle(deps, (enqueued, raw) => runner.offer(enqueued, raw)),
  }
  const runner: QueueRunner = new QueueRunner(readEachTime(fixed, connectionsOf(config)))
  return {
    ...{ runner, holdRules },
    wake: () => {
      unreachable.expireAll(clock())
      holdRules.reload()
      void paces.reload()
      runner.wake()
    },
    dropMailFrom: (workspaceId, domain) => messageCache.dropDomain(workspaceId, domain),
    stop: async (limit) => {
      await holdRules.stop()
      paces.stopWaiting()
      await runner.stop(limit)
      abortController.abort()
      await pool.close()
      await paces.stop()
    },
  }
}

function wirePaces({ database: { read, commit }, clock, log, observers }: DeliveryDeps): Paces {
  const timer = {
    now: () => performance.now(),
    after: (milliseconds: number, run: () => void) => {
      const timeout = setTimeout(run, milliseconds).unref()
      return () => clearTimeout(timeout)
    },
  }
  const paces = new Paces({ read, commit, clock, log, timer, onRefused: observers?.onPaceRefused ?? (() => undefined) })
  paces.load()
  observers?.watchPaces(() => paces.list())
  return paces
}

function connectionsOf({
  outbound,
}: Config): Readonly<Record<'maxConnections' | 'maxConnectionsPerHost', () => number>> {
  return {
    maxConnections: () => outbound.max_connections,
    maxConnectionsPerHost: () => outbound.max_connections_per_host,
  }
}

function findDestinationOf(
  { config: { outbound, service, dns }, clock, edges: { random, resolver } }: DeliveryDeps,
  signal: AbortSignal,
): FindDestination {
  const findRouteNow = followSetting(() => outbound.routes, createRouteFinder)
  const guardNow = followSetting(() => outbound.allowed_private_networks, createAddressGuard)
  return createDestinationFinder(
    readEachTime(
      {
        resolver: resolver ?? openResolver({ ...defaultResolverSettings, servers: dns.servers }, clock, signal),
        findRoute: (domain: DomainName) => findRouteNow()(domain),
        mayDial: (address: string) => guardNow()(address),
        random: createSteadyRandom(random, () => performance.now()),
        ownNames: new Set([service.hostname]),
      },
      {
        port: () => outbound.port,
      },
    ),
  )
}

function wireLeaveOut({ database, suppressions }: DeliveryDeps): Pick<RunnerDeps, 'isLeftOut' | 'leaveOut'> {
  const deps: LeaveOutDeps = { ...database, isSuppressed: suppressions.isSuppressed }
  return {
    isLeftOut: (entry) => isLeftOut(deps, entry),
    leaveOut: (entry, now) => leaveOut(deps, entry, now),
  }
}

function wireHoldRules(rules: HoldRuleRunner): Pick<RunnerDeps, 'findHoldRule' | 'holdByRule'> {
  return {
    findHoldRule: (entry, sender) => rules.find(entry, sender),
    holdByRule: (entry, rule) => rules.hold(entry, rule),
  }
}

function createAttempt(pool: SessionPool, clock: Clock): RunnerDeps['attempt'] {
  const shared = { clock, limits: defaultAttemptLimits, startCallLimit: createCallLimiter(defaultAttemptLimits.cutOff) }
  return (message, to, { ignoreOutages, acquireSlot }, signal) => {
    const send: AttemptDeps['send'] = (...call) => pool.send(...call, ignoreOutages)
    return attemptDelivery(message, to, { ...shared, acquireSlot, send }, signal)
  }
}

function createSettle(
  { config, clock, log, edges: { random }, database: { read, commit }, observers }: DeliveryDeps,
  offer: SettleDeps['offer'],
): RunnerDeps['settle'] {
  const policy = retryPolicyOf(config)
  const { hostname, mail_from } = config.service
  const notices = createSenderNoticeBuilder(
    readEachTime({ hostname, mailFrom: mail_from }, { expireAfter: () => policy.expireAfter }),
  )
  const onAttempt = observers?.onAttempt
  const common = { read, commit, clock, random, log, policy }
  return createAttemptSettler({ ...common, buildSenderNotice: notices, offer, onAttempt })
}

function createSessionPool(
  { config: { outbound, service }, clock, edges: { dialer, timeouts } }: DeliveryDeps,
  unreachableHosts: UnreachableHosts,
  paces: Paces,
): SessionPool {
  const choose = followSetting(() => outbound.source_addresses, createSourceAddressChooser)
  const open = createSessionOpener({
    dialer,
    helloName: service.hostname,
    timeouts,
    chooseSourceAddress: (address) => choose()(address),
    clock,
    unreachableHosts,
  })
  return new SessionPool(
    open,
    readEachTime(
      {
        ...defaultPoolSettings,
      },
      {
        connections: () => outbound.max_connections,
        connectionsPerHost: () => outbound.max_connections_per_host,
      },
    ),
    (host) => paces.of(host),
  )
}

function retryPolicyOf({ outbound }: Config): RetryPolicy {
  return readEachTime(
    {},
    {
      steps: () => outbound.retry_schedule,
      noticeAfter: () => outbound.delay_notice_after,
      expireAfter: () => outbound.expire_after,
    },
  )
}
