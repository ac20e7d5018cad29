/**
 * Delivery as a whole: the runner of the queue, and what its attempts use. A message passes through
 * `QueueRunner.offer`, `makeAttempt`, `MessageSender.send`, `SessionPool.send`, `QueueRunner.storeOutcome` and
 * `AttemptSettler.settle`.
 */

import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import { simulatorDomainOf } from '../../base/mail/simulator-address.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Dialer } from '../../base/platform/dialer.js'
import type { Resolver } from '../../base/platform/dns/resolver.js'
import type { Log } from '../../base/platform/log.js'
import type { RandomSource } from '../../base/platform/random.js'
import type { Store } from '../../base/storage/db/database.js'
import type { NodeState } from '../../base/storage/db/node-state.js'
import { HoldRuleRunner } from '../../records/messages/queue/hold-rule-runner.js'
import type { SuppressionCache } from '../../records/suppressions/suppression-cache.js'
import type { WorkspaceDirectory } from '../../workspaces/accounts/workspace/workspace-directory.js'
import type { SigningKeyCache } from '../../workspaces/domains/dkim/signing-keys.js'
import type { SigningThread } from '../../workspaces/domains/dkim/signing-thread.js'
import type { ReceivingDomainCache } from '../../workspaces/domains/receiving-domain-cache.js'
import type { ServiceIdentity } from '../../workspaces/domains/service-identity.js'
import { AttemptSettler, type OnAttempt } from './attempt/attempt-settler.js'
import { DestinationFinder } from './attempt/destination-finder.js'
import { Leavers } from './attempt/leavers.js'
import { MessagePreparer } from './attempt/message-preparer.js'
import { MessageSender } from './attempt/message-sender.js'
import { SenderNoticeBuilder } from './attempt/sender-notice-builder.js'
import { SourceAssigner } from './attempt/source-assigner.js'
import { createSteadyRandom } from './hosts/steady-random.js'
import { MessageCache } from './queue/message-cache.js'
import { QueueRunner } from './queue-runner.js'
import { SessionOpener } from './sessions/session-opener.js'
import { SessionPool } from './sessions/session-pool.js'
import type { Paces } from './shaping/paces.js'
import { UnreachableHosts } from './shaping/unreachable-hosts.js'
import type { Timeouts } from './smtp/timeouts.js'
import { MissingSources } from './sources/missing-sources.js'
import { NewDomains } from './sources/new-domains.js'
import { WarmUps } from './sources/warm-ups.js'
import type { DestinationSecurer } from './transport-security/secure-destination.js'
import type { OnTlsResult } from './transport-security/session-result.js'

/** The most bytes of new messages that wait in memory for their first attempt. */
const MESSAGE_CACHE_BYTES = 32 * 1_048_576

interface DeliveryDeps extends Store {
  readonly node: Pick<NodeState, 'name' | 'leads' | 'holdsLease'>
  readonly config: Pick<StartSettings, 'service'>
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly random: RandomSource
  readonly dialer: Dialer
  readonly timeouts: Timeouts
  readonly resolver: Resolver
  /** Adds what policies demand of TLS. Null if policies are not looked up. */
  readonly security: DestinationSecurer | null
  readonly paces: Paces
  readonly owners: WorkspaceDirectory
  readonly identity: ServiceIdentity
  readonly signingKeys: SigningKeyCache
  readonly signing: SigningThread
  readonly receivingDomains: ReceivingDomainCache
  readonly suppressions: SuppressionCache
  /** Gets what sessions with MX hosts say about the TLS policies of their domains. */
  readonly onTlsResult: OnTlsResult
  readonly onAttempt: OnAttempt
}

export class Delivery {
  readonly runner: QueueRunner
  readonly holdRules: HoldRuleRunner
  private readonly messageCache = new MessageCache(MESSAGE_CACHE_BYTES)
  private readonly unreachable = new UnreachableHosts()
  private readonly pool: SessionPool
  private readonly sources: SourceAssigner

  constructor(private readonly deps: DeliveryDeps) {
    const { read, commit, clock, log, paces, owners, onTlsResult, settings } = deps
    const { service } = deps.config
    const outbound = () => settings().outbound
    const { unreachable, messageCache } = this
    const { dialer, timeouts } = deps
    const helloName = service.hostname
    const opener = new SessionOpener({
      ...{ dialer, helloName, timeouts, clock, onTlsResult },
      unreachableHosts: unreachable,
    })
    this.pool = new SessionPool(opener, outbound, paces)
    const destinations = new DestinationFinder({
      resolver: deps.resolver,
      settings: outbound,
      random: createSteadyRandom(deps.random, () => performance.now()),
      ownNames: new Set([service.hostname]),
      receiving: deps.receivingDomains,
      security: deps.security,
      simulatorDomain: simulatorDomainOf(service.zone),
    })
    this.sources = new SourceAssigner({
      ...{ read, settings: outbound, destinations },
      warmUps: new WarmUps({ read, commit, clock, log, readPlan: () => outbound().warm_up_plan }),
      missing: new MissingSources({ clock, log }),
      newDomains: new NewDomains({ read, clock }),
    })
    this.holdRules = new HoldRuleRunner({
      ...{ read, commit, clock, log, ownerOf: owners.ownerOf, leads: deps.node.leads },
      onReleased: () => this.runner.wake(),
    })
    const { signingKeys, signing, identity } = deps
    const secret = identity.returnPathSecret
    this.runner = new QueueRunner({
      ...{ read, commit, clock, log, messageCache, paces, owners, destinations, unreachable },
      node: deps.node.name,
      holdsLease: deps.node.holdsLease,
      holdRules: this.holdRules,
      sources: this.sources,
      messages: new MessagePreparer({ read, signingKeys, signing, messageCache, owners, secret }),
      leavers: new Leavers({ read, commit, suppressions: deps.suppressions }),
      sender: new MessageSender({ pool: this.pool, clock, names: service, onTlsResult }),
      settler: this.openSettler(),
      retryPolicy: outbound,
      connections: outbound,
    })
  }

  get stsPolicyCount(): number {
    return this.deps.security?.policyCount ?? 0
  }

  async start(): Promise<void> {
    await this.holdRules.start()
    await this.runner.start()
  }

  /** Call this after a commit of another process or a reload. It drops caches and probes unreachable hosts. */
  async refresh(): Promise<void> {
    this.unreachable.expireAll(this.deps.clock())
    this.sources.drop()
    await this.holdRules.reload()
    void this.deps.paces.reload()
    this.runner.wake()
  }

  /** Call this when entries are due on another node's act, or after this node has taken entries over. */
  lookAgain(): void {
    this.runner.lookAgain()
  }

  /** Call this when a domain or workspace was deleted elsewhere: its mail is read from the database, which has it no more. */
  dropMail(): void {
    this.messageCache.clear()
  }

  /** Call this when this process has removed the domain's mail from the queue. */
  dropMailFrom(workspaceId: string, domain: string): void {
    this.messageCache.dropDomain(workspaceId, domain)
  }

  /** Lets attempts finish within `limit` milliseconds, then closes the sessions. */
  async stop(limit: number): Promise<void> {
    await this.holdRules.stop()
    this.deps.paces.stopWaiting()
    await this.runner.stop(limit)
    await this.sources.stop()
    await this.pool.close()
  }

  private openSettler(): AttemptSettler {
    const { read, commit, clock, log, random, settings, onAttempt } = this.deps
    const { hostname, mail_from: mailFrom } = this.deps.config.service
    const expireAfter = (): number => settings().outbound.expire_after
    const senderNotices = new SenderNoticeBuilder({ hostname, mailFrom, expireAfter })
    const retryPolicy = () => settings().outbound
    return new AttemptSettler({ read, commit, clock, random, log, retryPolicy, senderNotices, onAttempt })
  }
}
