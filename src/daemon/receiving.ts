/**
 * Wires what is done with mail from other servers: for whom it is, what its authentication
 * finds, filing it, and looking at it once it is on disk. The door is in `mx.ts`.
 *
 * Strangers make us ask DNS for names of their choice, so that has a resolver of its own:
 * what delivery remembers of its hosts is not pushed out by it.
 */
import { join } from 'node:path'
import type { InboundBytesReader } from '../accounts/limits/inbound-bytes.js'
import { findOperatorWorkspace } from '../accounts/operator-workspace.js'
import type { Config } from '../config/complete.js'
import type { ReceivingDomainCache } from '../domains/receiving-domain-cache.js'

import type { Clock } from '../platform/clock.js'
import { defaultResolverSettings, openResolver, type RecordResolver, type Resolver } from '../platform/dns/resolver.js'
import type { Log } from '../platform/log.js'
import { type AcceptInbound, type AcceptInboundDeps, createAcceptInbound } from '../receiving/accept-inbound.js'
import { AuthenticationThread } from '../receiving/authentication/authentication-thread.js'
import { openCrashGuard } from '../receiving/crash-guard.js'
import { InboundProcessor, type InboundReader } from '../receiving/inbound-processor.js'
import { createMailProcessor } from '../receiving/process-mail.js'
import { classifyRecipient, type RecipientPolicy } from '../receiving/recipient-policy.js'
import { createReportHandler, type ReportDeps, type ReportHandler } from '../receiving/reports/act-on-report.js'
import { findListings, type Listing } from '../spam/dnsbl.js'
import { createRspamdClient } from '../spam/rspamd/rspamd.js'
import { type JudgeSpam, judgeSpam } from '../spam/spam-verdict.js'
import type { Database } from '../storage/database.js'
import type { Edges } from './edges.js'
import type { Identity } from './identity.js'

/** Milliseconds for all DNS block lists that are asked about a client. */
const DNSBL_TIMEOUT = 5_000

const NO_OPERATOR =
  'mail to postmaster is put off: no workspace is the operator\'s yet ("posthorn setup", or "posthorn workspace set-operator")'

export interface ReceivingParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
  readonly identity: Identity
  readonly receivingDomains: ReceivingDomainCache
  readonly mime: InboundReader
  readonly inboundBytes: InboundBytesReader
  /** Hands mail of the service that is on disk to delivery. */
  readonly offer: ReportDeps['offer']
}

export type Recipients = Pick<AcceptInboundDeps, 'recipientOf' | 'operatorWorkspace' | 'inboundBytes'>

export interface Receiving {
  readonly recipients: Recipients
  readonly acceptInbound: AcceptInbound
  /** Of DNS block lists. */
  readonly findListings: (address: string) => Promise<readonly Listing[]>
  /** From now on mail that is on disk is looked at. */
  readonly start: () => void
  /** Ends the questions to DNS and the processes that take messages apart, and waits for what is looked at. */
  readonly stop: () => Promise<void>
}

export function wireReceiving(parts: ReceivingParts): Receiving {
  const { config, clock, log, edges, database, mime } = parts
  const { commit, read } = database
  const abortController = new AbortController()
  const resolver = edges.resolver ?? openOwnResolver(config, clock, abortController.signal)
  const authentication = new AuthenticationThread({ resolver, clock })
  const policy = buildRecipientPolicy(parts)
  const recipients = buildRecipients(parts, policy)
  const processMail = createMailProcessor({ clock, judgeSpam: createSpamJudge(parts) })
  const { processReport } = createReportActs(parts, policy)
  const crashGuard = openCrashGuard(join(config.service.data_dir, 'in-hand'), log)
  const processor = new InboundProcessor({ read, commit, clock, log, mime, crashGuard, processMail, processReport })
  const listing = { lists: config.inbound.dnsbl, resolveAddresses: resolver.resolveAddresses, timeLimit: DNSBL_TIMEOUT }
  return {
    recipients,
    acceptInbound: createAcceptInbound({
      ...recipients,
      commit,
      clock,
      log,
      hostname: config.service.hostname,
      dmarc: config.inbound.dmarc,
      authenticate: authentication.authenticate,
      onStored: (workspaceId) => processor.onStored(workspaceId),
    }),
    findListings: (address) => findListings(address, listing),
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

function openOwnResolver({ dns }: Config, clock: Clock, ended: AbortSignal): Resolver & RecordResolver {
  return openResolver({ ...defaultResolverSettings, servers: dns.servers }, clock, ended)
}

function buildRecipientPolicy({ config: { service }, identity, receivingDomains }: ReceivingParts): RecipientPolicy {
  return {
    hostname: service.hostname,
    zone: service.zone,
    secret: identity.returnPathSecret,
    findVerifiedDomain: receivingDomains.find,
  }
}

function buildRecipients({ database: { read }, inboundBytes }: ReceivingParts, policy: RecipientPolicy): Recipients {
  return {
    recipientOf: (address) => classifyRecipient(policy, address),
    operatorWorkspace: () => findOperatorWorkspace(read),
    inboundBytes,
  }
}

function createReportActs(
  { config: { service, outbound }, clock, log, database: { read }, offer }: ReceivingParts,
  policy: RecipientPolicy,
): ReportHandler {
  const notices = { hostname: service.hostname, mailFrom: service.mail_from }
  return createReportHandler({ read, clock, log, policy, notices: outbound.forward_bounces ? notices : null, offer })
}

function createSpamJudge({ config: { spam }, clock, log, database: { read } }: ReceivingParts): JudgeSpam {
  return judgeSpam({
    read,
    thresholds: { suspicious: spam.suspicious_score, spam: spam.spam_score },
    rspamd: spam.rspamd_url === null ? null : createRspamdClient({ url: spam.rspamd_url, clock, log }),
  })
}
