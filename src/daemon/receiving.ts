/**
 * Wires what is done with mail from other servers: for whom it is, what its authentication
 * finds, filing it, and looking at it once it is on disk. The door is in `mx.ts`.
 *
 * Strangers make us ask DNS for names of their choice, so that has a resolver of its own:
 * what delivery remembers of its hosts is not pushed out by it.
 */
import { join } from 'node:path'
import type { InboundBytesOf } from '../accounts/limits/inbound-bytes.js'
import { operatorWorkspace } from '../accounts/operator-workspace.js'
import type { Config } from '../config/complete.js'
import type { ReceivingBook } from '../domains/receiving-book.js'
import { parseAddress, parseDomainName } from '../mail/address.js'
import type { MimeReader } from '../messages/mime/mime-parts.js'
import type { Clock } from '../platform/clock.js'
import { defaultResolverSettings, openResolver, type RecordResolver, type Resolver } from '../platform/dns/resolver.js'
import type { Log } from '../platform/log.js'
import { AuthenticationThread } from '../receiving/authentication/authentication-thread.js'
import { openInHand } from '../receiving/in-hand.js'
import { InboundProcessor } from '../receiving/inbound-processor.js'
import { processMail } from '../receiving/process-mail.js'
import { inboundRecipient, type RecipientPolicy } from '../receiving/recipient-policy.js'
import { type ReportActs, type ReportDeps, reportActs } from '../receiving/reports/act-on-report.js'
import { reportDigest } from '../receiving/reports/report-digest.js'
import { type TakeIn, type TakeInDeps, takeIn } from '../receiving/take-in.js'
import { type Listing, listingsOf } from '../spam/dnsbl.js'
import { circumstancesOf } from '../spam/received-spam-message.js'
import { rspamd } from '../spam/rspamd/rspamd.js'
import { type JudgeSpam, spamVerdict } from '../spam/spam-verdict.js'
import type { Database } from '../storage/database.js'
import type { Edges } from './edges.js'
import type { Identity } from './identity.js'

/** Milliseconds for all DNS block lists that are asked about a client. */
const LISTINGS = 5_000

const NO_OPERATOR =
  'mail to postmaster is put off: no workspace is the operator\'s yet ("posthorn setup", or "posthorn workspace set-operator")'

export interface ReceivingParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
  readonly identity: Identity
  readonly domainsOfAll: ReceivingBook
  readonly mime: MimeReader
  readonly inboundBytes: InboundBytesOf
  /** Hands mail of the service that is on disk to delivery. */
  readonly offer: ReportDeps['offer']
}

export type Recipients = Pick<TakeInDeps, 'recipientOf' | 'operatorWorkspace' | 'inboundBytes'>

export interface Receiving {
  readonly recipients: Recipients
  readonly takeIn: TakeIn
  /** Of DNS block lists. */
  readonly listings: (address: string) => Promise<readonly Listing[]>
  /** From now on mail that is on disk is looked at. */
  readonly start: () => void
  /** Ends the questions to DNS and the processes that take messages apart, and waits for what is looked at. */
  readonly stop: () => Promise<void>
}

export function wireReceiving(parts: ReceivingParts): Receiving {
  const { config, clock, log, edges, database, mime } = parts
  const { commit, read } = database
  const ended = new AbortController()
  const resolver = edges.resolver ?? ownResolver(config, clock, ended.signal)
  const authentication = new AuthenticationThread({ resolver, clock })
  const policy = recipientPolicy(parts)
  const recipients = recipientsOf(parts, policy)
  const judge = processMail({ clock, spamVerdict: judgingSpam(parts) })
  const judges = { judge, judgeReport: judgingReports(parts, policy).judge, reportDigest, factsOf: circumstancesOf }
  const inHand = openInHand(join(config.service.data_dir, 'in-hand'), log)
  const processor = new InboundProcessor({ read, commit, clock, log, mime, inHand, ...judges })
  const listing = { lists: config.inbound.dnsbl, addresses: resolver.addresses, timeLimit: LISTINGS }
  return {
    recipients,
    takeIn: takeIn({
      ...recipients,
      commit,
      clock,
      log,
      hostname: config.service.hostname,
      dmarc: config.inbound.dmarc,
      authenticate: authentication.authenticate,
      filed: (workspaceId) => processor.notice(workspaceId),
    }),
    listings: (address) => listingsOf(address, listing),
    start: () => {
      if (recipients.operatorWorkspace() === null) log.warn(NO_OPERATOR)
      processor.start()
    },
    stop: async () => {
      ended.abort()
      await authentication.stop()
      const stopped = processor.stop()
      await mime.close()
      await stopped
      inHand.close()
    },
  }
}

function ownResolver({ dns }: Config, clock: Clock, ended: AbortSignal): Resolver & RecordResolver {
  return openResolver({ ...defaultResolverSettings, servers: dns.servers }, clock, ended)
}

function recipientPolicy({ config: { service }, identity, domainsOfAll }: ReceivingParts): RecipientPolicy {
  return {
    hostname: parseDomainName(service.hostname),
    zone: parseDomainName(service.zone),
    secret: identity.returnPathSecret,
    verifiedDomain: domainsOfAll.receiving,
  }
}

function recipientsOf({ database: { read }, inboundBytes }: ReceivingParts, policy: RecipientPolicy): Recipients {
  return {
    recipientOf: (address) => inboundRecipient(policy, address),
    operatorWorkspace: () => operatorWorkspace(read),
    inboundBytes,
  }
}

function judgingReports(
  { config: { service, outbound }, clock, log, database: { read }, offer }: ReceivingParts,
  policy: RecipientPolicy,
): ReportActs {
  const notices = { hostname: service.hostname, mailFrom: parseAddress(service.mail_from) }
  return reportActs({ read, clock, log, policy, notices: outbound.forward_bounces ? notices : null, offer })
}

function judgingSpam({ config: { spam }, clock, log, database: { read } }: ReceivingParts): JudgeSpam {
  return spamVerdict({
    read,
    thresholds: { suspicious: spam.suspicious_score, spam: spam.spam_score },
    rspamd: spam.rspamd_url === '' ? null : rspamd({ url: spam.rspamd_url, clock, log }),
  })
}
