/**
 * Applies a report that came to a return path, a feedback address or an unsubscribe address: to the recipient and
 * its email, the event log, the suppression list, and the app that expects its own notification. All in one
 * commit, which also removes the report: it never becomes an inbound email. A report at a valid token that
 * concerns other recipients alone is kept for the retention time of messages and appears in no list.
 *
 * `claim` decides whom a report may concern, `messages/late-outcome` what it changes. A report without effect is
 * counted by its reason and logged.
 */
import type { Config } from '../../../base/config/complete.js'
import { type Address, domainOf } from '../../../base/mail/address.js'
import { assertNever } from '../../../base/mail/assert-never.js'
import { describeReason } from '../../../base/mail/reasons.js'
import { simulatorDomainOf } from '../../../base/mail/simulator-address.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import { TokenBuckets } from '../../../base/platform/token-buckets.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { StorageFault, type Write } from '../../../base/storage/db/write.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { QueueRunner } from '../../../outbound/delivery/queue-runner.js'
import { emailById } from '../../../records/messages/email/email.js'
import {
  type Recipient,
  recipientOfAnyWorkspace,
  recipientsOfEmail,
} from '../../../records/messages/email/recipients.js'
import { markReportProcessed } from '../../../records/messages/inbound/inbound-email.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import { type LateOutcome, type OutcomeSubject, resolveLateOutcome } from '../../../records/messages/late-outcome.js'
import type { ServiceNotice, ServiceSender } from '../../../records/messages/service-email.js'
import { buildUnsubscription } from '../../../records/messages/unsubscribe.js'
import { addSuppression, type NewSuppression } from '../../../records/suppressions/suppressions.js'
import { type ProcessingResult, removeMessage } from '../analysis/processing-result.js'
import type { RecipientPolicy } from '../recipients/recipient-policy.js'
import { buildLateNotice, type LateNotice } from './late-notice.js'
import { findBounceFor } from './pick-bounce.js'
import type { Bounce, Report } from './report.js'
import { type ReportClaim, type ReportMail, type UnclaimedReason, verifyClaim } from './report-claim.js'

/** A report has shown that the address is dead, or that the email was taken for spam; called once it is on disk. */
export type OnLateOutcome = (subject: OutcomeSubject, kind: 'returned' | 'complained') => void

export interface ReportDeps {
  readonly read: Read
  readonly clock: Clock
  readonly log: Log
  readonly policy: RecipientPolicy
  readonly settings: () => Pick<Config['outbound'], 'forward_bounces'>
  /** The sender of notifications of later bounces. */
  readonly service: ServiceSender
  readonly queue: Pick<QueueRunner, 'offer'>
  readonly onLateOutcome?: OnLateOutcome | undefined
}

/**
 * Why a report changed nothing. `gone`: the recipient is no longer stored, or belongs to no workspace.
 * `other-recipient`: it names other recipients alone. `messages/late-outcome` explains `state` and `repeated`.
 */
type IgnoredReason = UnclaimedReason | 'gone' | 'other-recipient' | 'state' | 'repeated'

type LateFinding = readonly [OutcomeSubject, 'returned' | 'complained']

interface ReportEffect {
  readonly writes: readonly Write[]
  readonly notice: ServiceNotice | null
  readonly ignoredReason: IgnoredReason | null
  /** What `onLateOutcome` is called with. If it is absent, it is not called. */
  readonly late?: LateFinding | null
  /** These facts are logged. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** Anyone who holds a token can send any number of reports: larger ones are not kept. */
const MAX_STORED_REPORT = 262_144
/** Limits the reports of all senders together: 128 MB a day. What is kept counts towards the room for reports, which must not be used up. */
const KEPT_REPORTS = { burst: 200, perSecond: 500 / 86_400, maxKeys: 1 }
/** Addresses in a line of the log. */
const MAX_LOGGED_ADDRESSES = 5

type ProvenClaim = Exclude<ReportClaim, { kind: 'none' }>

export class ReportProcessor {
  /** Counted since the start. */
  readonly ignoredCounts = new Map<IgnoredReason, number>()
  private readonly kept = new TokenBuckets(KEPT_REPORTS)

  constructor(private readonly deps: ReportDeps) {}

  async process(email: InboundEmail, mail: ReportMail): Promise<ProcessingResult> {
    const { clock } = this.deps
    const effects = await buildEffects(this.deps, email, mail)
    const isKept = shouldKeepReport(effects, email) && this.kept.take('all', clock()) === 0
    const own = isKept
      ? [markReportProcessed({ id: email.id, workspaceId: email.workspace_id, at: clock() })]
      : removeMessage(email)
    return {
      writes: [...own, ...effects.flatMap(({ writes }) => writes)],
      onCommitted: () => this.announce(email, effects),
    }
  }

  private announce(email: InboundEmail, effects: readonly ReportEffect[]): void {
    const { queue, log, onLateOutcome } = this.deps
    for (const { notice, ignoredReason: why, late, facts } of effects) {
      const about = { report: email.id, client: email.client_address, ...facts }
      if (notice !== null) queue.offer(notice.enqueued)
      if (late) onLateOutcome?.(...late)
      if (why === null) {
        log.info(about, 'a report acted')
        continue
      }
      const times = (this.ignoredCounts.get(why) ?? 0) + 1
      this.ignoredCounts.set(why, times)
      log.info({ ...about, why, times }, 'a report changed nothing')
    }
  }
}

/** A report is kept for inspection if mail to a recipient of ours caused it. */
function shouldKeepReport(effects: readonly ReportEffect[], { size }: Pick<InboundEmail, 'size'>): boolean {
  const idle = effects.every(({ writes }) => writes.length === 0)
  return idle && effects.some(({ ignoredReason }) => ignoredReason === 'other-recipient') && size <= MAX_STORED_REPORT
}

/** One for each recipient that it concerns, however many of its addresses lead there. */
async function buildEffects(deps: ReportDeps, email: InboundEmail, mail: ReportMail): Promise<readonly ReportEffect[]> {
  const { report } = mail
  const effects = new Map<string, ReportEffect>()
  for (const address of parseJson(email.envelope_to)) {
    const claim = await verifyClaim(deps.policy, address, mail)
    const key = claim.kind === 'none' ? claim.why : claim.recipientId
    if (effects.has(key)) continue
    const finding =
      claim.kind === 'none' ? unclaimedEffect(claim.why, report, address) : await buildEffect(deps, claim, deps.clock())
    effects.set(key, finding)
  }
  return [...effects.values()]
}

/** Valid tokens are not logged: a reader of the log could use them. */
function unclaimedEffect(why: UnclaimedReason, { type }: Report, to: Address): ReportEffect {
  return noEffect(why, why === 'no-token' || why === 'not-ours' ? { type, to } : { type })
}

async function buildEffect(deps: ReportDeps, claim: ProvenClaim, now: number): Promise<ReportEffect> {
  const subject = await findSubject(deps.read, claim.recipientId)
  const facts = { type: claim.kind, recipient: subject?.recipient.address, email: subject?.email.id }
  if (claim.kind === 'unsubscribe') return buildUnsubscribeEffect(deps.read, claim.recipientId, facts, now)
  if (subject === null) return noEffect('gone', { ...facts, id: claim.recipientId })
  const bounces = claim.kind === 'bounce' ? claim.bounces : []
  const fellows = bounces.length === 0 ? [] : await otherRecipientsOf(deps.read, subject.recipient)
  const bounce = findBounceFor(bounces, subject.recipient, fellows)
  const outcome = outcomeOf(claim, bounce)
  if (outcome === null) return noEffect('other-recipient', { ...facts, named: listNamedRecipients(bounces) })
  const late = await resolveLateOutcome(deps.read, subject, outcome, now)
  const isSimulated = domainOf(subject.recipient.address) === simulatorDomainOf(deps.policy.zone)
  const suppressions = isSimulated ? [] : buildSuppressions(subject, outcome, bounce, now)
  // The text is not logged: for a bounce in prose it is the body.
  const loggedFacts = { ...facts, news: outcome.kind, reason: bounce?.reason }
  const notice =
    late.kind === 'acts' || isDeliveryConfirmed(subject, outcome) ? await buildNotice(deps, subject, bounce, now) : null
  const noticed = notice?.writes ?? []
  if (late.kind === 'acts') {
    const writes = [...late.writes, ...suppressions, ...noticed]
    return { writes, notice, ignoredReason: null, late: toCounted(subject, outcome, bounce), facts: loggedFacts }
  }
  return {
    writes: noticed,
    notice,
    ignoredReason: notice === null ? late.why : null,
    facts: loggedFacts,
  }
}

/** Null if it says nothing about the address. */
function toCounted(subject: OutcomeSubject, { kind }: LateOutcome, bounce: Bounce | null): LateFinding | null {
  if (kind === 'complained') return [subject, 'complained']
  return kind === 'refused' && bounce?.recipientsFault === true ? [subject, 'returned'] : null
}

async function buildUnsubscribeEffect(
  read: Read,
  id: string,
  facts: ReportEffect['facts'],
  now: number,
): Promise<ReportEffect> {
  const found = await buildUnsubscription(read, id, now)
  if (found.kind === 'gone') return noEffect('gone', { ...facts, id })
  const ignoredReason = found.kind === 'acts' ? null : found.why
  return { writes: found.writes, notice: null, ignoredReason, facts: { ...facts, news: 'unsubscribed' } }
}

/** The message was taken for delivered and now is. A requested success notification waits for this. */
function isDeliveryConfirmed({ recipient }: OutcomeSubject, { kind }: LateOutcome): boolean {
  return kind === 'delivered' && recipient.status === 'delivered'
}

function noEffect(ignoredReason: IgnoredReason, facts: ReportEffect['facts']): ReportEffect {
  return { writes: [], notice: null, ignoredReason, facts }
}

/** The service's own mail belongs to no workspace: reports about it end here. */
async function findSubject(read: Read, recipientId: string): Promise<OutcomeSubject | null> {
  const [recipient] = await recipientOfAnyWorkspace(read, { id: recipientId })
  if (recipient === undefined || recipient.workspace_id === SERVICE_WORKSPACE) return null
  const [email] = await emailById(read, { workspaceId: recipient.workspace_id, id: recipient.email_id })
  return email === undefined ? null : { recipient, email }
}

/** The other recipients of the same email. A report about them never concerns this one. */
async function otherRecipientsOf(
  read: Read,
  { id, workspace_id: workspaceId, email_id: emailId }: Recipient,
): Promise<readonly string[]> {
  const all = await recipientsOfEmail(read, { workspaceId, emailId })
  return all.filter((other) => other.id !== id).map(({ address }) => address)
}

function listNamedRecipients(bounces: readonly Bounce[]): readonly string[] {
  return bounces.slice(0, MAX_LOGGED_ADDRESSES).flatMap(({ recipient }) => recipient ?? [])
}

/** Null for a bounce that concerns others. */
function outcomeOf(claim: Exclude<ProvenClaim, { kind: 'unsubscribe' }>, bounce: Bounce | null): LateOutcome | null {
  switch (claim.kind) {
    case 'bounce':
      return bounce === null ? null : toBounceOutcome(bounce)
    case 'complaint':
      return { kind: 'complained', feedbackType: claim.feedbackType }
    default:
      return assertNever(claim)
  }
}

const outcomeKinds = { permanent: 'refused', temporary: 'given-up', delayed: 'delayed' } as const

function toBounceOutcome({ kind, reason, diagnostic }: Bounce): LateOutcome {
  if (kind === 'delivered') return { kind, diagnostic }
  const known = reason ?? 'unclassified'
  return { kind: outcomeKinds[kind], reason: known, diagnostic: diagnostic || describeReason(known) }
}

function buildSuppressions(
  { recipient, email }: OutcomeSubject,
  outcome: LateOutcome,
  bounce: Bounce | null,
  at: number,
): Write[] {
  const suppress = (reason: NewSuppression['reason'], metadata: NewSuppression['metadata']): Write[] => {
    const address = recipient.address
    const { workspace_id: workspaceId, id: sourceEmailId } = email
    return [addSuppression({ workspaceId, email: address, reason, sourceEmailId, metadata, at })]
  }
  if (outcome.kind === 'complained') return suppress('spam_complaint', { feedback_type: outcome.feedbackType })
  if (bounce?.recipientsFault !== true) return []
  const { reason, diagnostic } = bounce
  const words = diagnostic === '' ? {} : { diagnostic_code: diagnostic }
  return suppress('hard_bounce', { bounce_type: 'hard', bounce_subtype: reason, ...words })
}

/** If a notification cannot be built, the rest is done without it. */
async function buildNotice(
  deps: ReportDeps,
  subject: OutcomeSubject,
  bounce: Bounce | null,
  now: number,
): Promise<LateNotice | null> {
  const { read, log, settings, service } = deps
  if (!settings().forward_bounces || bounce === null) return null
  try {
    return await buildLateNotice(read, service, subject, bounce, now)
  } catch (error) {
    // The report waits then, and its notification with it.
    if (error instanceof StorageFault) throw error
    log.error({ err: error, email: subject.email.id }, 'a notification could not be built')
    return null
  }
}
