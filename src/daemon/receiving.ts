/**
 * Wires the processing of mail from other servers: its recipients, authentication, storage, and the analysis
 * of stored messages. `mx-listener.ts` wires the listener.
 *
 * External senders make us query names of their choice, so this room has a resolver of its own: its answers
 * cannot displace those that delivery has cached.
 */
import { join } from 'node:path'
import type { InboundBytesReader } from '../accounts/limits/inbound-bytes.js'
import { findOperatorWorkspace } from '../accounts/operator-workspace.js'
import type { Config } from '../config/complete.js'
import { followSetting, readEachTime } from '../config/follow-setting.js'
import type { ReceivingDomainCache } from '../domains/receiving-domain-cache.js'
import type { ServiceIdentity } from '../domains/service-identity.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { Clock } from '../platform/clock.js'
import { defaultResolverSettings, openResolver, type RecordResolver, type Resolver } from '../platform/dns/resolver.js'
import type { Log } from '../platform/log.js'
import type { RoomLogs } from '../platform/room-logs.js'
import { type AcceptInbound, type AcceptInboundDeps, createAcceptInbound } from '../receiving/accept-inbound.js'
import { type Authenticate, AuthenticationThread } from '../receiving/authentication/authentication-thread.js'
import { openCrashGuard } from '../receiving/crash-guard.js'
import { InboundProcessor, type InboundReader, type ReportProcessor } from '../receiving/inbound-processor.js'
import { createMailProcessor, type PlanForwarding } from '../receiving/process-mail.js'
import { classifyRecipient, type RecipientPolicy } from '../receiving/recipient-policy.js'
import { createReportHandler, type ReportDeps, type ReportHandler } from '../receiving/reports/act-on-report.js'
import { findListings, type Listing } from '../spam/dnsbl.js'
import { createRspamdClient } from '../spam/rspamd/rspamd.js'
import { type JudgeSpam, judgeSpam } from '../spam/spam-verdict.js'
import type { Database } from '../storage/database.js'
import type { Edges } from './edges.js'

/** Milliseconds for all DNS block lists together, for one client. */
const DNSBL_TIMEOUT = 5_000

const NO_OPERATOR =
  'mail to postmaster is put off: no workspace is the operator\'s yet ("posthorn setup", or "posthorn workspace set-operator")'

export interface ReceivingDeps {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly logs: RoomLogs
  readonly edges: Edges
  readonly database: Database
  readonly identity: ServiceIdentity
  readonly receivingDomains: ReceivingDomainCache
  readonly mime: InboundReader
  readonly inboundBytes: InboundBytesReader
  /** Hands a stored email of the service to delivery. */
  readonly offer: ReportDeps['offer']
  readonly observers: Observers | null
  readonly planForwarding: PlanForwarding
  /** Reports about forwarded mail go back to its senders, the others to `processReport`. */
  readonly returnBounces: (policy: RecipientPolicy, processReport: ReportProcessor) => ReportProcessor
}

type Recipients = Pick<AcceptInboundDeps, 'recipientOf' | 'operatorWorkspace' | 'inboundBytes'>

export interface Receiving {
  readonly recipients: Recipients
  readonly acceptInbound: AcceptInbound
  /** The DNS block lists that list the client. */
  readonly findListings: (address: string) => Promise<readonly Listing[]>
  /** Milliseconds in which the authentication thread was busy. */
  readonly readBusyTime: () => number
  /** Begins the analysis of stored messages. */
  readonly start: () => void
  /** Ends DNS queries and the child processes, and waits for messages under way. */
  readonly stop: () => Promise<void>
}

export function wireReceiving(deps: ReceivingDeps): Receiving {
  const { config, clock, log, edges, database, mime, observers } = deps
  const { commit, read } = database
  const abortController = new AbortController()
  const resolver = edges.resolver ?? openOwnResolver(config, clock, abortController.signal)
  const authentication = new AuthenticationThread({ resolver, clock })
  const policy = buildRecipientPolicy(deps)
  const recipients = buildRecipients(deps, policy)
  const processMail = createMailProcessor({
    ...{ clock, judgeSpam: createSpamJudge(deps) },
    planForwarding: deps.planForwarding,
  })
  const processReport = deps.returnBounces(policy, createReportActs(deps, policy).processReport)
  const crashGuard = openCrashGuard(join(config.service.data_dir, 'in-hand'), log)
  const processor = new InboundProcessor({ read, commit, clock, log, mime, crashGuard, processMail, processReport })
  const accepting = {
    ...{ ...recipients, commit, clock, log, hostname: config.service.hostname },
    authenticate: observeResults(authentication.authenticate, observers),
    onStored: (workspaceId: string) => processor.onStored(workspaceId),
  }
  return {
    recipients,
    acceptInbound: createAcceptInbound(readEachTime(accepting, { dmarc: () => config.inbound.dmarc })),
    findListings: createListingFinder(config, resolver),
    readBusyTime: () => authentication.readBusyTime(),
    start: () => {
      if (recipients.operatorWorkspace() === null) log.warn(NO_OPERATOR)
      processor.start()
    },
    stop: async () => {
      abortController.abort()
      await authentication.stop()
      const stopped = processor.stop()
      await mime.close()
      await stopped
      crashGuard.close()
    },
  }
}

function observeResults(authenticate: Authenticate, observers: Observers | null): Authenticate {
  if (observers === null) return authenticate
  return async (...message) => {
    const result = await authenticate(...message)
    observers.onAuthenticated(result.authentication)
    return result
  }
}

function createListingFinder({ inbound }: Config, { resolveAddresses }: Resolver): Receiving['findListings'] {
  return (address) => findListings(address, { lists: inbound.dnsbl, resolveAddresses, timeLimit: DNSBL_TIMEOUT })
}

function openOwnResolver({ dns }: Config, clock: Clock, ended: AbortSignal): Resolver & RecordResolver {
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

function buildRecipients({ database: { read }, inboundBytes }: ReceivingDeps, policy: RecipientPolicy): Recipients {
  return {
    recipientOf: (address) => classifyRecipient(policy, address),
    operatorWorkspace: () => findOperatorWorkspace(read),
    inboundBytes,
  }
}

function createReportActs(
  { config: { service, outbound }, clock, log, database: { read }, offer }: ReceivingDeps,
  policy: RecipientPolicy,
): ReportHandler {
  const notices = { hostname: service.hostname, mailFrom: service.mail_from }
  return createReportHandler(
    readEachTime(
      {
        ...{ read, clock, log, policy, offer },
      },
      {
        notices: () => (outbound.forward_bounces ? notices : null),
      },
    ),
  )
}

function createSpamJudge(deps: ReceivingDeps): JudgeSpam {
  const { config, clock, logs, database, observers } = deps
  const { spam } = config
  const rspamdOf = followSetting(
    () => spam.rspamd_url,
    (url) => (url === null ? null : createRspamdClient({ url, clock, log: logs.of('spam') })),
  )
  return async (email, raw, analysis) => {
    const thresholds = { suspicious: spam.suspicious_score, spam: spam.spam_score }
    const verdict = await judgeSpam({ read: database.read, thresholds, rspamd: rspamdOf() })(email, raw, analysis)
    if (verdict.spam_status !== null) observers?.onSpamVerdict(verdict.spam_status)
    return verdict
  }
}
