/**
 * Receiving as a whole: what the MX listener asks, and the processing of stored messages. A recipient goes
 * `RecipientChecker.check`; a message goes `InboundAcceptor.accept`, `GuardedAuthenticator.authenticate`,
 * `EarlyProcessor.process`, `storeCopies`, and one that was not processed before its answer `InboundProcessor.onStored`.
 */
import { join } from 'node:path'
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Authentication } from '../../base/mail/authentication-results.js'
import type { Clock } from '../../base/platform/clock.js'
import type { RecordResolver, Resolver } from '../../base/platform/dns/resolver.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import type { NodeState } from '../../base/storage/db/node-state.js'
import type { SpamStatus } from '../../base/storage/tables/inbound-tables.js'
import type { QueueRunner } from '../../outbound/delivery/queue-runner.js'
import type { InboundBytes } from '../../workspaces/accounts/limits/inbound-bytes.js'
import type { OperatorWorkspaceCache } from '../../workspaces/accounts/workspace/operator-workspace.js'
import type { SigningKeyCache } from '../../workspaces/domains/dkim/signing-keys.js'
import type { SigningThread } from '../../workspaces/domains/dkim/signing-thread.js'
import type { ForwardRuleCache } from '../../workspaces/domains/forwards/forward-rule-cache.js'
import type { ReceivingDomainCache } from '../../workspaces/domains/receiving-domain-cache.js'
import type { ServiceIdentity } from '../../workspaces/domains/service-identity.js'
import type { Dispatcher } from '../../workspaces/webhooks/dispatcher.js'
import { ForwardingPlanner } from '../forwarding/forwarding-planner.js'
import { LearnedCounts } from '../spam/bayes/learned-counts.js'
import { BlockLists } from '../spam/dnsbl.js'
import { AllowLists } from '../spam/dnswl.js'
import { ConfiguredRspamd } from '../spam/rspamd/configured-rspamd.js'
import { SpamJudge } from '../spam/spam-judge.js'
import { AccessLinks } from './access-links.js'
import { CrashGuard } from './analysis/crash-guard.js'
import { EarlyAnalyzer } from './analysis/early-analyzer.js'
import type { InboundReader } from './analysis/inbound-analyzer.js'
import { DomainOwners } from './domain-reports/domain-owners.js'
import { type DomainReportDeps, DomainReportFiler } from './domain-reports/domain-report-filer.js'
import { EarlyProcessor } from './early-processor.js'
import { EarlyScorer } from './early-scorer.js'
import { GatheredCommits } from './gathered-commits.js'
import { Greylist, type GreylistDeps } from './greylisting/greylist.js'
import { InboundAcceptor } from './inbound-acceptor.js'
import { InboundProcessor } from './inbound-processor.js'
import { MailProcessor } from './mail-processor.js'
import { RecipientChecker } from './recipients/recipient-checker.js'
import { RecipientPolicy } from './recipients/recipient-policy.js'
import { BounceReturner } from './reports/bounce-returner.js'
import { type OnLateOutcome, ReportProcessor } from './reports/report-processor.js'
import { GuardedAuthenticator } from './threads/guarded-authenticator.js'
import { MessageThreads } from './threads/message-threads.js'

interface ReceivingEvents {
  readonly onLateOutcome?: OnLateOutcome | undefined
  readonly onAuthenticated?: ((results: Authentication) => void) | undefined
  /** The verdict is on disk. */
  readonly onSpamVerdict?: ((status: SpamStatus) => void) | undefined
  readonly onGreylisted?: GreylistDeps['onDecision']
  readonly onDomainReport?: DomainReportDeps['onOutcome']
}

export interface ReceivingDeps extends Store, ReceivingEvents {
  readonly node: Pick<NodeState, 'name'>
  readonly config: Pick<StartSettings, 'service'>
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly spamLog: Log
  /**
   * It is not the resolver of delivery: external senders make us query names of their choice, which must displace no
   * answers there.
   */
  readonly resolver: Resolver & RecordResolver
  readonly identity: ServiceIdentity
  readonly operatorWorkspace: OperatorWorkspaceCache
  readonly receivingDomains: ReceivingDomainCache
  readonly forwardRules: ForwardRuleCache
  readonly inboundBytes: InboundBytes
  readonly mime: InboundReader
  readonly signingKeys: SigningKeyCache
  readonly signing: SigningThread
  readonly queue: Pick<QueueRunner, 'offer'>
  readonly webhooks: Pick<Dispatcher, 'refresh'>
}

/** Milliseconds that the listener waits for the code of the threads; without it, the first message does. */
const MAX_LOADING = 10_000

const NO_OPERATOR =
  'mail to postmaster is put off: no workspace is the operator\'s yet, which is normal before "posthorn setup"; "posthorn workspace set-operator" chooses one later'

export class Receiving {
  readonly recipients: RecipientChecker
  readonly acceptor: InboundAcceptor
  readonly blockLists: BlockLists
  readonly allowLists: AllowLists
  readonly greylist: Greylist
  private readonly policy: RecipientPolicy
  private readonly threads: MessageThreads
  private readonly early: EarlyAnalyzer
  private readonly judge: SpamJudge
  private readonly accessLinks: AccessLinks
  private readonly mail: MailProcessor
  private readonly crashGuard: CrashGuard
  private readonly processor: InboundProcessor

  constructor(private readonly deps: ReceivingDeps) {
    const { read, commit, clock, log, identity, resolver, receivingDomains: domains, mime } = deps
    const { data_dir: folder, hostname, zone } = deps.config.service
    const settings = () => deps.settings().inbound
    const secret = identity.returnPathSecret
    this.policy = new RecipientPolicy({ hostname, zone, secret, clock, domains })
    this.recipients = new RecipientChecker({ ...deps, policy: this.policy, settings })
    this.blockLists = new BlockLists({ resolver, settings })
    this.allowLists = new AllowLists({ resolver, settings, log })
    const greylisting = () => settings().greylisting
    const onDecision = deps.onGreylisted
    this.greylist = new Greylist({ read, commit, clock, log, secret, settings: greylisting, onDecision })
    const onFailure = (err: unknown): void => log.error({ err }, 'a thread for inbound mail ended')
    this.threads = new MessageThreads({ resolver, clock, onFailure })
    this.early = new EarlyAnalyzer({ mime, crashGuard: new CrashGuard(join(folder, 'in-hand-early'), log), log })
    this.judge = this.openJudge()
    this.accessLinks = new AccessLinks(read, hostname)
    this.mail = this.openMailProcessor()
    this.crashGuard = new CrashGuard(join(folder, 'in-hand'), log)
    this.processor = this.openProcessor()
    this.acceptor = this.openAcceptor()
  }

  /** Milliseconds in which each thread for inbound mail was busy. */
  get busyTimes(): readonly (() => number)[] {
    return this.threads.busyTimes
  }

  /** Loads the code that the first message needs. */
  loadAhead(): Promise<void> {
    return this.threads.loadCode(MAX_LOADING)
  }

  /** Begins the processing of stored messages. */
  async start(): Promise<void> {
    if ((await this.deps.operatorWorkspace.find()) === null) this.deps.log.info(NO_OPERATOR)
    this.processor.start()
  }

  /** Call this when this node has taken messages over from another one. */
  resume(): void {
    this.processor.startAll()
  }

  /** Ends threads and child processes, and waits for messages under way. */
  async stop(): Promise<void> {
    await this.threads.stop()
    await Promise.all([this.processor.stop(), this.deps.mime.close()])
    await Promise.all([this.greylist.stop(), this.early.stop()])
    this.crashGuard.close()
  }

  private openJudge(): SpamJudge {
    const { read, clock, spamLog } = this.deps
    const settings = () => this.deps.settings().spam
    const rspamd = new ConfiguredRspamd({ settings, clock, log: spamLog })
    return new SpamJudge({ learned: new LearnedCounts(read, clock), settings, rspamd })
  }

  private openMailProcessor(): MailProcessor {
    const { config, clock, log, forwardRules: rules, onSpamVerdict: onVerdict } = this.deps
    const forwarding = new ForwardingPlanner({ ...this.deps, names: config.service, rules })
    return new MailProcessor({ clock, log, accessLinks: this.accessLinks, judge: this.judge, forwarding, onVerdict })
  }

  private openProcessor(): InboundProcessor {
    const { policy, mail, crashGuard } = this
    const { read, commit, clock, log, mime, queue, onLateOutcome } = this.deps
    const node = this.deps.node.name
    const { service } = this.deps.config
    const { hostname, mail_from: mailFrom } = service
    const settings = () => this.deps.settings().outbound
    const common = { read, clock, log, policy }
    const reports = new ReportProcessor({ ...common, queue, settings, service: { hostname, mailFrom }, onLateOutcome })
    const bounces = new BounceReturner({ ...common, queue, hostname, reports })
    const owners = new DomainOwners(read, service)
    const domainReports = new DomainReportFiler({ ...common, owners, onOutcome: this.deps.onDomainReport })
    return new InboundProcessor({
      ...{ node, read, commit, clock, log, mime, crashGuard, mail, domainReports },
      reports: bounces,
    })
  }

  private openAcceptor(): InboundAcceptor {
    const { policy, threads, early, judge, mail, processor, accessLinks } = this
    const { commit, clock, log, operatorWorkspace, inboundBytes, onAuthenticated } = this.deps
    return new InboundAcceptor({
      ...{ clock, log, policy, operatorWorkspace, inboundBytes, processor, accessLinks },
      hostname: this.deps.config.service.hostname,
      settings: () => this.deps.settings().inbound,
      commits: new GatheredCommits({ commit, threads }),
      authenticator: new GuardedAuthenticator({ threads, early, onAuthenticated }),
      earlyProcessor: new EarlyProcessor({ analyzer: early, mail }),
      earlyScorer: new EarlyScorer({ analyzer: early, judge }),
    })
  }
}
