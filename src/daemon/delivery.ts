/** Wires delivery: DNS, routes, TLS policies, the session pool, signatures, and the queue runner. */
import type { WorkspaceOwners } from '../accounts/workspace-owners.js'
import { followSetting } from '../config/follow-setting.js'
import type { ReadSettings, StartSettings } from '../config/live-config.js'
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
import type { RunnerDeps } from '../delivery/queue/runner-deps.js'
import { createSessionOpener } from '../delivery/sessions/session-opener.js'
import { SessionPool } from '../delivery/sessions/session-pool.js'
import type { Paces } from '../delivery/shaping/paces.js'
import type { SecureDestination } from '../delivery/transport-security/secure-destination.js'
import type { OnTlsResult } from '../delivery/transport-security/session-result.js'
import type { SigningKeyCache } from '../domains/dkim/signing-keys.js'
import type { SigningThread } from '../domains/dkim/signing-thread.js'
import type { ReceivingDomainCache } from '../domains/receiving-domain-cache.js'
import { domainOfMailHost } from '../domains/sending-domains.js'
import type { ServiceIdentity } from '../domains/service-identity.js'
import type { DomainName } from '../mail/address.js'
import { simulatorDomainOf } from '../mail/simulator-address.js'
import { HoldRuleRunner } from '../messages/queue/hold-rule-runner.js'
import type { Observers } from '../monitoring/monitoring.js'
import { createAddressGuard } from '../platform/address-guard.js'
import type { Clock } from '../platform/clock.js'
import { defaultResolverSettings, openResolver, type Resolver } from '../platform/dns/resolver.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import type { SuppressionCache } from '../suppressions/suppression-cache.js'
import { createAttempt } from './attempts.js'
import type { BreakerService } from './breaker.js'
import type { Edges } from './edges.js'
import { wirePaces } from './paces.js'
import { wireSources } from './sources.js'
import { wireTransportSecurity } from './transport-security.js'

/** Bytes of new messages that wait in memory for their first attempt. */
const MESSAGE_CACHE_BYTES = 32 * 1_048_576

interface DeliveryDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly workspaceOwners: WorkspaceOwners
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
  readonly identity: ServiceIdentity
  readonly signingKeys: SigningKeyCache
  readonly receivingDomains: ReceivingDomainCache
  readonly signing: SigningThread
  readonly suppressions: SuppressionCache
  readonly observers: Observers | null
  /** Told what sessions with MX hosts say about the TLS policies of their domains. */
  readonly onTlsResult?: OnTlsResult | undefined
  readonly breaker: Pick<BreakerService, 'countAttempt'>
}

export interface Delivery {
  readonly runner: QueueRunner
  readonly holdRules: HoldRuleRunner
  /** To be called after a foreign commit: hold rules and the queue are read again, and unreachable hosts are probed. */
  readonly wake: () => void
  /** To be called when this process has removed the domain's mail from the queue. */
  readonly dropMailFrom: (workspaceId: string, domain: string) => void
  /** MTA-STS policies that are known. */
  readonly countStsPolicies: () => number
  /** Lets attempts finish within `limit` milliseconds, then closes the sessions. */
  readonly stop: (limit: number) => Promise<void>
}

export function wireDelivery(deps: DeliveryDeps): Delivery {
  const { config, settings, clock, log, database } = deps
  const { read, commit } = database
  const [abortController, messageCache] = [new AbortController(), new MessageCache(MESSAGE_CACHE_BYTES)]
  const onTlsResult = tlsObserverOf(deps)
  const [unreachable, paces] = [new UnreachableHosts(), wirePaces(deps)]
  const pool = createSessionPool(deps, { unreachable, paces, onTlsResult })
  const destinations = wireDestinations(deps, onTlsResult, abortController.signal)
  const sources = wireSources(deps, abortController.signal)
  const { ownerOf } = deps.workspaceOwners
  const holdRules = new HoldRuleRunner({ read, commit, clock, log, ownerOf, onReleased: () => runner.wake() })
  const runner: QueueRunner = new QueueRunner({
    ...{ read, commit, clock, log, messageCache, paces, owners: deps.workspaceOwners },
    ...wireMessages(deps, messageCache),
    findDestination: destinations.find,
    ...sources.steps,
    checkReachability: (hosts) => unreachable.checkReachability(hosts, clock()),
    ...wireLeaveOut(deps),
    ...wireHoldRules(holdRules),
    attempt: createAttempt(pool, { config, clock, onTlsResult }),
    retryPolicy: () => settings().outbound,
    settle: createSettle(deps, (enqueued, raw) => runner.offer(enqueued, raw)),
    connections: () => settings().outbound,
  })
  return {
    ...{ runner, holdRules },
    wake: () => {
      unreachable.expireAll(clock())
      sources.drop()
      holdRules.reload()
      void paces.reload()
      runner.wake()
    },
    countStsPolicies: destinations.countStsPolicies,
    dropMailFrom: (workspaceId, domain) => messageCache.dropDomain(workspaceId, domain),
    stop: createStop({
      ...{ holdRules, paces, runner, sources, pool, destinations },
      abort: () => abortController.abort(),
    }),
  }
}

interface StoppedParts {
  readonly holdRules: Pick<HoldRuleRunner, 'stop'>
  readonly paces: Pick<Paces, 'stop' | 'stopWaiting'>
  readonly runner: Pick<QueueRunner, 'stop'>
  readonly sources: { readonly stop: () => Promise<void> }
  readonly pool: Pick<SessionPool, 'close'>
  readonly destinations: { readonly stop: () => Promise<void> }
  /** Ends DNS look-ups. */
  readonly abort: () => void
}

function createStop(parts: StoppedParts): Delivery['stop'] {
  return async (limit) => {
    await parts.holdRules.stop()
    parts.paces.stopWaiting()
    await parts.runner.stop(limit)
    await parts.sources.stop()
    parts.abort()
    await parts.pool.close()
    await parts.paces.stop()
    await parts.destinations.stop()
  }
}

function wireMessages(
  { database: { read }, identity, signingKeys, signing, workspaceOwners: owners }: DeliveryDeps,
  messageCache: MessageCache,
): Pick<RunnerDeps, 'prepareMessage' | 'buildMinimalMessage'> {
  const signBytes: ReadyDeps['signBytes'] = (...job) => signing.sign(...job)
  const deps = { read, signingKeys, signBytes, messageCache, owners, secret: identity.returnPathSecret }
  return {
    prepareMessage: (entry, now) => prepareMessage(deps, entry, now),
    buildMinimalMessage: (entry) => buildMinimalMessage(deps, entry),
  }
}

function tlsObserverOf({ observers, onTlsResult }: DeliveryDeps): OnTlsResult {
  return (result) => {
    observers?.onTlsResult(result)
    onTlsResult?.(result)
  }
}

interface Destinations {
  readonly find: FindDestination
  readonly countStsPolicies: () => number
  readonly stop: () => Promise<void>
}

function wireDestinations(deps: DeliveryDeps, onTlsResult: OnTlsResult, signal: AbortSignal): Destinations {
  const { config, clock, edges } = deps
  if (edges.resolver !== null) {
    const find = findDestinationOf(deps, edges.resolver, undefined)
    return { find, countStsPolicies: () => 0, stop: async () => undefined }
  }
  const resolver = openResolver({ ...defaultResolverSettings, servers: config.dns.servers }, clock, signal)
  const { secure, stsPolicies } = wireTransportSecurity({ ...deps, resolver, onTlsResult })
  return {
    find: findDestinationOf(deps, resolver, secure),
    countStsPolicies: () => stsPolicies.size,
    stop: () => stsPolicies.stop(),
  }
}

function findDestinationOf(
  { config: { service }, settings, edges: { random }, receivingDomains }: DeliveryDeps,
  resolver: Resolver,
  secure: SecureDestination | undefined,
): FindDestination {
  const findRouteNow = followSetting(() => settings().outbound.routes, createRouteFinder)
  const guardNow = followSetting(() => settings().outbound.allowed_private_networks, createAddressGuard)
  return createDestinationFinder({
    resolver,
    secure,
    findRoute: (domain) => findRouteNow()(domain),
    mayDial: (address) => guardNow()(address),
    port: () => settings().outbound.port,
    random: createSteadyRandom(random, () => performance.now()),
    ownNames: new Set([service.hostname]),
    receives: (domain) => receivesMail(receivingDomains, domain),
    simulatorDomain: simulatorDomainOf(service.zone),
  })
}

/** As the MX listener does: a domain with receiving on, and the mail host of each verified domain, for its bounces. */
function receivesMail({ find }: ReceivingDomainCache, domain: DomainName): boolean {
  if (find(domain)?.inbound === true) return true
  const parent = domainOfMailHost(domain)
  return parent !== null && find(parent) !== undefined
}

function wireLeaveOut({ database, suppressions }: DeliveryDeps): Pick<RunnerDeps, 'isLeftOut' | 'leaveOut'> {
  const deps: LeaveOutDeps = { ...database, findSuppressionReason: suppressions.findReason }
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

function createSettle(
  { config, settings, clock, log, edges: { random }, database: { read, commit }, observers, breaker }: DeliveryDeps,
  offer: SettleDeps['offer'],
): RunnerDeps['settle'] {
  const { hostname, mail_from: mailFrom } = config.service
  const expireAfter = (): number => settings().outbound.expire_after
  const notices = createSenderNoticeBuilder({ hostname, mailFrom, expireAfter })
  const onAttempt: SettleDeps['onAttempt'] = (attempt) => {
    observers?.onAttempt(attempt)
    breaker.countAttempt(attempt)
  }
  const common = { read, commit, clock, random, log, retryPolicy: () => settings().outbound }
  return createAttemptSettler({ ...common, buildSenderNotice: notices, offer, onAttempt })
}

interface SessionDeps {
  readonly unreachable: UnreachableHosts
  readonly paces: Paces
  readonly onTlsResult: OnTlsResult
}

function createSessionPool(
  { config: { service }, settings, clock, edges: { dialer, timeouts } }: DeliveryDeps,
  { unreachable: unreachableHosts, paces, onTlsResult }: SessionDeps,
): SessionPool {
  const open = createSessionOpener({
    dialer,
    helloName: service.hostname,
    timeouts,
    clock,
    unreachableHosts,
    onTlsResult,
  })
  return new SessionPool(
    open,
    () => settings().outbound,
    (host) => paces.of(host),
  )
}
