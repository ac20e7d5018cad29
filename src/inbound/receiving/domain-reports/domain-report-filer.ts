/**
 * Files what a message at `dmarc@` or `tlsrpt@` reports, with the sending domains that it is about, in the commit that
 * removes the message. A message that is not filed is removed too, so these addresses fill no disk.
 *
 * Limits: the messages of a reporter, its reports about one domain, and what the reports of a domain weigh together:
 * if that is too much, the reporter with the most gives way with its oldest, so that one who floods displaces itself. Those
 * to whom the domain has sent no mail give way first, so that forged reports, however many, displace no others.
 */

import { findAsync } from '../../../base/platform/async-filter.js'
import type { Clock } from '../../../base/platform/clock.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import type { Log } from '../../../base/platform/log.js'
import { TokenBuckets } from '../../../base/platform/token-buckets.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { DomainReportKind } from '../../../base/storage/tables/domain-report-tables.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import type { DigestResult } from '../../../records/messages/mime/mime-parts-protocol.js'
import { type ProcessingResult, removeMessage } from '../analysis/processing-result.js'
import { isAboutDomains } from '../recipients/destinations.js'
import type { RecipientPolicy } from '../recipients/recipient-policy.js'
import type { DomainOwners } from './domain-owners.js'
import { rememberReceivers } from './mail-receivers.js'
import type { ReportDigest } from './report-digest.js'
import {
  type DomainOfReport,
  findStoredReport,
  oldestOfReporter,
  removeDomainReport,
  storeReport,
  weighReporters,
} from './report-records.js'
import { findReporter, listEnclosingNames } from './report-trust.js'
import type { ReportedDomain } from './reported-domain.js'

/**
 * `unauthenticated`: no domain is proved for its message. `rate`: its reporter sends too many, or nothing was sent to
 * it and there is no room. `unknown-domain`: no workspace has the domain verified. `repeated`: it is stored already.
 */
export type ReportOutcome = 'filed' | 'unauthenticated' | 'rate' | 'unreadable' | 'unknown-domain' | 'repeated'

export interface DomainReportDeps {
  readonly read: Read
  readonly clock: Clock
  readonly log: Pick<Log, 'info'>
  readonly policy: Pick<RecipientPolicy, 'classify'>
  readonly owners: Pick<DomainOwners, 'find'>
  /** `kind` is null if the report was not read. If it is absent, nothing is measured. */
  readonly onOutcome?: ((kind: DomainReportKind | null, outcome: ReportOutcome) => void) | undefined
}

/** Messages of one reporter. A large one reports about each domain every day, and at the same hour. */
const messageLimits = { burst: 2_000, perSecond: 1, maxKeys: 10_000 }
/** A message from which nothing was filed counts as so many messages: a small one may take seconds to read. */
const USELESS_COST = 40
/** Reports of one reporter about one domain, in a day. */
const MAX_DAILY = 50
const domainLimits = { burst: MAX_DAILY, perSecond: MAX_DAILY / 86_400, maxKeys: 50_000 }
/** Domains of one message. */
const MAX_DOMAINS = 20
/** Octets that the reports of a domain may weigh. */
const MAX_WEIGHT = 16_777_216
/** Reports that give way to one. */
const REMOVED_AT_ONCE = 10

interface Filing {
  readonly writes: readonly Write[]
  readonly outcome: ReportOutcome
  /** Null if it was not read. */
  readonly reported: ReportedDomain | null
  readonly facts: Readonly<Record<string, unknown>>
}

export class DomainReportFiler {
  private readonly messages = new TokenBuckets(messageLimits)
  private readonly reports = new TokenBuckets(domainLimits)

  constructor(private readonly deps: DomainReportDeps) {}

  /** Whether the report came to an address for reports about domains. */
  async handles({ envelope_to: addresses }: Pick<InboundEmail, 'envelope_to'>): Promise<boolean> {
    const [first] = parseJson(addresses)
    return first !== undefined && isAboutDomains(await this.deps.policy.classify(first))
  }

  /** The writes for a message that is not read at all. Null if it may be read. */
  refuse(email: InboundEmail): ProcessingResult | null {
    const reporter = reporterOf(email)
    if (reporter === null) return this.resultOf(email, [notFiled('unauthenticated')])
    const isTooMuch = this.messages.take(reporter, this.deps.clock()) > 0
    return isTooMuch ? this.resultOf(email, [notFiled('rate', { reporter })]) : null
  }

  async file(email: InboundEmail, result: DigestResult<ReportDigest>): Promise<ProcessingResult> {
    const reporter = reporterOf(email) ?? ''
    const filings = await buildFilings(this.deps, this.reports, reporter, result)
    const isUseless = filings.every(({ outcome }) => outcome !== 'filed')
    if (isUseless) this.messages.take(reporter, this.deps.clock(), USELESS_COST - 1)
    return this.resultOf(email, filings)
  }

  private resultOf(email: InboundEmail, filings: readonly Filing[]): ProcessingResult {
    return {
      writes: [...removeMessage(email), ...filings.flatMap(({ writes }) => writes)],
      onCommitted: () => announce(this.deps, email, filings),
    }
  }
}

async function buildFilings(
  deps: DomainReportDeps,
  limits: TokenBuckets,
  reporter: string,
  result: DigestResult<ReportDigest>,
): Promise<readonly Filing[]> {
  if (result.kind === 'unreadable') return [notFiled('unreadable', { reporter, reason: result.why })]
  const { digest } = result
  if (digest.kind === 'unreadable') return [notFiled('unreadable', { reporter, reason: digest.why })]
  const some = digest.domains.slice(0, MAX_DOMAINS)
  const filings: Filing[] = []
  for (const reported of some) filings.push(await buildFiling(deps, limits, reporter, reported))
  return filings
}

function reporterOf({ authentication }: InboundEmail): string | null {
  return authentication === null ? null : findReporter(parseJson(authentication))
}

function notFiled(outcome: ReportOutcome, facts: Filing['facts'] = {}, reported: ReportedDomain | null = null): Filing {
  return { writes: [], outcome, reported, facts }
}

async function buildFiling(
  deps: DomainReportDeps,
  limits: TokenBuckets,
  reporter: string,
  reported: ReportedDomain,
): Promise<Filing> {
  const { read, clock } = deps
  const { kind, domain, reportId } = reported
  const facts = { reporter, kind, domain }
  const owner = await findOwner(deps, domain)
  if (owner === null) return notFiled('unknown-domain', facts, reported)
  const about = { ...facts, workspace: owner.workspaceId }
  const stored = await findStoredReport(read, { ...owner, ...facts, reportId })
  if (stored.length > 0) return notFiled('repeated', about, reported)
  const now = clock()
  if (limits.take(`${reporter} ${owner.domainId}`, now) > 0) return notFiled('rate', about, reported)
  const room = await makeRoom(read, owner, reporter, reported)
  if (room === null) return notFiled('rate', about, reported)
  const { messages, passed } = reported
  return {
    writes: [...room, ...writesOf(owner, reporter, reported, now)],
    outcome: 'filed',
    reported,
    facts: { ...about, messages, passed },
  }
}

async function findOwner({ owners }: DomainReportDeps, domain: string): Promise<DomainOfReport | null> {
  for (const name of listEnclosingNames(domain)) {
    const owner = await owners.find(name)
    if (owner !== null) return owner
  }
  return null
}

/** Null if the reports of those who received mail of the domain take all room, and this reporter is none of them. */
async function makeRoom(
  read: Read,
  owner: DomainOfReport,
  from: string,
  { domain, rows }: ReportedDomain,
): Promise<readonly Write[] | null> {
  const reporters = await weighReporters(read, owner)
  const weight = reporters.reduce((sum, { weight }) => sum + weight, rows.length)
  if (weight <= MAX_WEIGHT) return []
  const isReceiver = rememberReceivers(read)
  const received = (reporter: string): Promise<boolean> =>
    isReceiver({ workspace_id: owner.workspaceId, domain, reporter })
  const heaviestFirst = reporters.toSorted((one, other) => other.weight - one.weight)
  // The heaviest come first, so few are looked up: there are few receivers.
  const unproven = await findAsync(heaviestFirst, async ({ reporter }) => !(await received(reporter)))
  const displaced = unproven ?? ((await received(from)) ? heaviestFirst[0] : undefined)
  if (displaced === undefined) return null
  const oldest = await oldestOfReporter(read, { ...owner, reporter: displaced.reporter, limit: REMOVED_AT_ONCE })
  return oldest.map(removeDomainReport)
}

function writesOf(
  { workspaceId, domainId }: DomainOfReport,
  reporter: string,
  { kind, domain, organization, reportId, policy, beginsAt, endsAt, messages, passed, rows }: ReportedDomain,
  now: number,
): readonly Write[] {
  const report = {
    id: uuidv7(now),
    workspace_id: workspaceId,
    domain_id: domainId,
    report_id: reportId,
    begins_at: beginsAt,
    ends_at: endsAt,
    size: rows.length,
    received_at: now,
    ...{ kind, domain, reporter, organization, policy, messages, passed },
  }
  return storeReport(report, rows)
}

function announce({ log, onOutcome }: DomainReportDeps, email: InboundEmail, filings: readonly Filing[]): void {
  for (const { outcome, reported, facts } of filings) {
    onOutcome?.(reported?.kind ?? null, outcome)
    const about = { report: email.id, client: email.client_address, ...facts }
    if (outcome === 'filed') log.info(about, 'a report about a domain was filed')
    else log.info({ ...about, why: outcome }, 'a report about a domain was not filed')
  }
}
