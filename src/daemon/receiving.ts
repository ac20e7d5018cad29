/**
 * Wires the processing of mail from other servers: its recipients, authentication, storage, and the analysis
 * of stored messages. `mx-listener.ts` wires the listener.
 *
 * External senders make us query names of their choice, so this room has a resolver of its own: its answers
 * cannot displace those that delivery has cached.
 */
import { join } from 'node:path'
import type { InboundBytes } from '../accounts/limits/inbound-bytes.js'
import type { OperatorWorkspaceCache } from '../accounts/operator-workspace.js'
import { followSetting } from '../config/follow-setting.js'
import type { ReadSettings, StartSettings } from '../config/live-config.js'
import { type ForwardRuleCache, findRule } from '../domains/forwards/forward-rule-cache.js'
import { defaultInboundPolicy } from '../domains/inbound-policy.js'
import type { ReceivingDomainCache } from '../domains/receiving-domain-cache.js'
import type { ServiceIdentity } from '../domains/service-identity.js'
import type { Address } from '../mail/address.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { Clock } from '../platform/clock.js'
import { defaultResolverSettings, openResolver, type RecordResolver, type Resolver } from '../platform/dns/resolver.js'
import type { Log } from '../platform/log.js'
import type { RoomLogs } from '../platform/room-logs.js'
import {
  type AcceptInbound,
  type AcceptInboundDeps,
  type AuthenticateInbound,
  createAcceptInbound,
} from '../receiving/accept-inbound.js'
import { type CrashGuard, openCrashGuard } from '../receiving/crash-guard.js'
import { createEarlyAnalyzer } from '../receiving/early-analysis.js'
import { createEarlyScorer } from '../receiving/early-score.js'
import { gatherCommits } from '../receiving/gathered-commits.js'
import {
  InboundProcessor,
  type InboundReader,
  type MailProcessor,
  type ReportProcessor,
} from '../receiving/inbound-processor.js'
import { createEarlyProcessor } from '../receiving/process-early.js'
import {
  createMailProcessor,
  type PlanForwarding,
  type ProcessMail,
  toProcessingResult,
} from '../receiving/process-mail.js'
import { classifyRecipient, type RecipientPolicy } from '../receiving/recipient-policy.js'
import { createReportHandler, type ReportDeps, type ReportHandler } from '../receiving/reports/act-on-report.js'
import { guardAuthentication } from '../receiving/threads/guard-authentication.js'
import { MessageThreads } from '../receiving/threads/message-threads.js'
import type { MxDeps } from '../smtp/mx/mx-deps.js'
import { LearnedCounts } from '../spam/bayes/learned-counts.js'
import { findListings, type Listing } from '../spam/dnsbl.js'
import { findAllowListings } from '../spam/dnswl.js'
import { createRspamdClient } from '../spam/rspamd/rspamd.js'
import { type JudgeSpam, judgeSpam } from '../spam/spam-verdict.js'
import type { Database } from '../storage/database.js'
import type { BreakerService } from './breaker.js'
import { wireDomainReports } from './domain-reports.js'
import type { Edges } from './edges.js'
import { openGreylist } from './greylist.js'

/** Milliseconds for all DNS block lists together, for one client. */
const DNSBL_TIMEOUT = 5_000

const NO_OPERATOR =
  'mail to postmaster is put off: no workspace is the operator\'s yet ("posthorn setup", or "posthorn workspace set-operator")'

export interface ReceivingDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly logs: RoomLogs
  readonly edges: Edges
  readonly database: Database
  readonly identity: ServiceIdentity
  readonly operatorWorkspace: OperatorWorkspaceCache
  readonly receivingDomains: ReceivingDomainCache
  readonly mime: InboundReader
  readonly inboundBytes: InboundBytes
  /** Hands a stored email of the service to delivery. */
  readonly offer: ReportDeps['offer']
  readonly observers: Observers | null
  readonly breaker: Pick<BreakerService, 'countReport'>
  readonly planForwarding: PlanForwarding
  readonly forwardRules: ForwardRuleCache
  /** Reports about forwarded mail go back to its senders, the others to `processReport`. */
  readonly returnBounces: (policy: RecipientPolicy, processReport: ReportProcessor) => ReportProcessor
}

interface Recipients extends Pick<AcceptInboundDeps, 'recipientOf' | 'operatorWorkspace' | 'policyOf'> {
  readonly inboundBytes: InboundBytes
  readonly forwardRuleOf: (workspaceId: string, address: Address) => string | null
}

export interface Receiving {
  readonly recipients: Recipients
  readonly acceptInbound: AcceptInbound
  /** The DNS block lists that list the client. */
  readonly findListings: (address: string) => Promise<readonly Listing[]>
  /** What DNS allow lists say of the client. */
  readonly findAllowListings: MxDeps['findAllowListings']
  readonly greylist: MxDeps['greylist']
  /** Milliseconds in which each thread for inbound mail was busy. */
  readonly busyTimes: readonly (() => number)[]
  /** Begins the analysis of stored messages. */
  readonly start: () => void
  /** Loads the code that the first message needs. */
  readonly loadAhead: () => Promise<void>
  /** Ends DNS queries and the child processes, and waits for messages under way. */
  readonly stop: () => Promise<void>
}

/** Milliseconds that the listener waits for the code of the threads; without it, the first message does. */
const MAX_LOADING = 10_000

export function wireReceiving(deps: ReceivingDeps): Receiving {
  const { config, settings, clock, log, edges, mime, observers } = deps
  const abortController = new AbortController()
  const resolver = edges.resolver ?? openOwnResolver(config, clock, abortController.signal)
  const threads = openThreads(deps, resolver)
  const policy = buildRecipientPolicy(deps)
  const recipients = buildRecipients(deps, policy)
  const judge = createSpamJudge(deps)
  const processMail = wireMailProcessor(deps, judge)
  const { analyzeEarly, guardMessage, stop: stopEarly } = openEarlyAnalyzer(deps)
  const greylist = openGreylist(deps)
  const { processor, crashGuard } = openProcessor(deps, policy, processMail)
  const accepting = {
    ...{ ...recipients, clock, log, hostname: config.service.hostname },
    dmarcSetting: () => settings().inbound.dmarc,
    commit: gatherCommits(deps.database.commit, () => threads.isBusy()),
    processEarly: createEarlyProcessor({ analyzeEarly, processMail }),
    isSpamForAll: createEarlyScorer({ analyzeEarly, judgeSpam: judge }),
    authenticate: observeResults(guardAuthentication(threads.authenticate, guardMessage), observers),
    onStored: processor.onStored.bind(processor),
  }
  return {
    recipients,
    acceptInbound: createAcceptInbound(accepting),
    findListings: createListingFinder(settings, resolver),
    findAllowListings: createAllowListingFinder(settings, resolver, log),
    ...{ greylist: greylist.asked, busyTimes: threads.busyTimes },
    loadAhead: () => threads.loadCode(MAX_LOADING),
    start: () => {
      if (recipients.operatorWorkspace() === null) log.warn(NO_OPERATOR)
      processor.start()
    },
    stop: async () => {
      abortController.abort()
      await threads.stop()
      await Promise.all([processor.stop(), mime.close()])
      await Promise.all([greylist.stop(), stopEarly()])
      crashGuard.close()
    },
  }
}

function observeResults(authenticate: AuthenticateInbound, observers: Observers | null): AuthenticateInbound {
  if (observers === null) return authenticate
  return async (...message) => {
    const result = await authenticate(...message)
    observers.onAuthenticated(result.authentication)
    return result
  }
}

function createListingFinder(settings: ReadSettings, { resolveAddresses }: Resolver): Receiving['findListings'] {
  return (address) =>
    findListings(address, { lists: settings().inbound.dnsbl, resolveAddresses, timeLimit: DNSBL_TIMEOUT })
}

function createAllowListingFinder(
  settings: ReadSettings,
  { resolveAddresses }: Resolver,
  log: Log,
): Receiving['findAllowListings'] {
  const reported = new Set<string>()
  const onRefusedQuery = (zone: string, answer: string): void => {
    if (!reported.has(zone)) log.warn({ zone, answer }, 'a DNS allow list refuses our queries')
    reported.add(zone)
  }
  return (address) =>
    findAllowListings(address, {
      lists: settings().inbound.dnswl,
      resolveAddresses,
      timeLimit: DNSBL_TIMEOUT,
      onRefusedQuery,
    })
}

function openThreads({ clock, log }: ReceivingDeps, resolver: RecordResolver): MessageThreads {
  const onFailure = (err: unknown): void => log.error({ err }, 'a thread for inbound mail ended')
  return new MessageThreads({ resolver, clock, onFailure })
}

function openOwnResolver({ dns }: StartSettings, clock: Clock, ended: AbortSignal): Resolver & RecordResolver {
  return openResolver({ ...defaultResolverSettings, servers: dns.servers }, clock, ended)
}

function buildRecipientPolicy({
  config: { service },
  clock,
  identity,
  receivingDomains,
}: ReceivingDeps): RecipientPolicy {
  return {
    hostname: service.hostname,
    zone: service.zone,
    secret: identity.returnPathSecret,
    clock,
    findVerifiedDomain: receivingDomains.find,
  }
}

function buildRecipients(
  { operatorWorkspace, inboundBytes, receivingDomains, forwardRules }: ReceivingDeps,
  policy: RecipientPolicy,
): Recipients {
  return {
    recipientOf: (address) => classifyRecipient(policy, address),
    operatorWorkspace: operatorWorkspace.find,
    inboundBytes,
    policyOf: (domain) => receivingDomains.find(domain)?.policy ?? defaultInboundPolicy,
    forwardRuleOf: (workspaceId, address) => findRule(forwardRules, workspaceId, address)?.id ?? null,
  }
}

function createReportActs(
  { config: { service }, settings, clock, log, database: { read }, offer, breaker }: ReceivingDeps,
  policy: RecipientPolicy,
): ReportHandler {
  const notices = { hostname: service.hostname, mailFrom: service.mail_from }
  return createReportHandler({
    ...{ read, clock, log, policy, offer, onLateOutcome: breaker.countReport },
    notices: () => (settings().outbound.forward_bounces ? notices : null),
  })
}

function createSpamJudge(deps: ReceivingDeps): JudgeSpam {
  const { settings, clock, logs, database } = deps
  const rspamdOf = followSetting(
    () => settings().spam.rspamd_url,
    (url) => (url === null ? null : createRspamdClient({ url, clock, log: logs.of('spam') })),
  )
  const learned = new LearnedCounts(database.read, clock)
  return (email, raw, analysis) => {
    const { suspicious_score: suspicious, spam_score: spam } = settings().spam
    const thresholds = { suspicious, spam }
    return judgeSpam({ learned, thresholds, rspamd: rspamdOf() })(email, raw, analysis)
  }
}

function wireMailProcessor({ clock, observers, planForwarding }: ReceivingDeps, judgeSpam: JudgeSpam): ProcessMail {
  const onVerdict = observers?.onSpamVerdict ?? (() => undefined)
  return createMailProcessor({ clock, judgeSpam, planForwarding, onVerdict })
}

function openProcessor(
  deps: ReceivingDeps,
  policy: RecipientPolicy,
  processMail: ProcessMail,
): { readonly processor: InboundProcessor; readonly crashGuard: CrashGuard } {
  const { config, clock, log, mime, database } = deps
  const { commit, read } = database
  const processReport = deps.returnBounces(policy, createReportActs(deps, policy).processReport)
  const crashGuard = openCrashGuard(join(config.service.data_dir, 'in-hand'), log)
  const processStored: MailProcessor = async (...message) => toProcessingResult(await processMail(...message))
  const processing = { processMail: processStored, processReport, domainReportsOf: wireDomainReports(deps, policy) }
  const processor = new InboundProcessor({ read, commit, clock, log, mime, crashGuard, ...processing })
  return { processor, crashGuard }
}

function openEarlyAnalyzer({ config, log, mime }: ReceivingDeps): ReturnType<typeof createEarlyAnalyzer> {
  const crashGuard = openCrashGuard(join(config.service.data_dir, 'in-hand-early'), log)
  return createEarlyAnalyzer({ mime, crashGuard, log })
}
