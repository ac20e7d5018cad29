/**
 * What came to a return path, a feedback address or an unsubscribe address acts: on the
 * recipient and its email, on the log of events, on the suppression list, and on the app that
 * waits for its own report. One commit, in which the report itself leaves: it never is an
 * inbound email. One at a valid token that speaks of others alone stays, unlisted, as long as messages are kept.
 *
 * What it may act on is said in `claim`, what becomes of it in `messages/late-outcome`. What
 * changes nothing is counted by its reason and logged.
 */
import type { Address } from '../../mail/address.js'
import { assertNever } from '../../mail/assert-never.js'
import type { Notice, NoticeSettings } from '../../messages/dsn/sender-notice.js'
import { emailById } from '../../messages/email.js'
import { type InboundEmail, keepReport, removeInbound, removeInboundRaw } from '../../messages/inbound/inbound-email.js'
import { type LateNews, type LateSubject, lateOutcome } from '../../messages/late-outcome.js'
import { type Recipient, recipientOfAnyWorkspace, recipientsOfEmail } from '../../messages/recipients.js'
import { reasonSentence } from '../../messages/replies/reasons.js'
import type { Clock } from '../../platform/clock.js'
import type { Log } from '../../platform/log.js'
import type { Read } from '../../storage/prepared.js'
import { SERVICE } from '../../storage/tables/tables.js'
import { StorageFault, type Write } from '../../storage/writer/write.js'
import { addSuppression, type NewSuppression } from '../../suppressions/suppressions.js'
import type { Judged, JudgeReport } from '../inbound-processor.js'
import type { RecipientPolicy } from '../recipient-policy.js'
import { bounceAbout } from './bounce-about.js'
import { type Claim, claimAt, type ReportMail, type Unclaimed } from './claim.js'
import { type LateNotice, lateNotice } from './late-notice.js'
import type { Bounce, Report } from './report.js'

export interface ReportDeps {
  readonly read: Read
  readonly clock: Clock
  readonly log: Log
  readonly policy: RecipientPolicy
  /** Null: apps are not told of later bounces. */
  readonly notices: NoticeSettings | null
  /** Hands a notification that is on disk to delivery. */
  readonly offer: (enqueued: Notice['enqueued'], raw: Buffer) => void
}

/**
 * Why a report changed nothing. `gone`: the recipient is not kept any more, or is none of a
 * workspace. `other-recipient`: it names others alone. `state`, `repeated`: see `messages/late-outcome`.
 */
export type Ignored = Unclaimed | 'gone' | 'other-recipient' | 'state' | 'repeated'

export interface ReportActs {
  readonly judge: JudgeReport
  /** How often since the start. */
  readonly ignored: ReadonlyMap<Ignored, number>
}

interface Finding {
  readonly writes: readonly Write[]
  readonly notice: Notice | null
  readonly ignored: Ignored | null
  /** For the log. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** Whoever holds a token can send any number of them: larger ones are not kept. */
const MAX_KEPT = 262_144
/** Addresses in a line of the log. */
const MAX_NAMED = 5

type Proven = Exclude<Claim, { kind: 'none' }>

export function reportActs(deps: ReportDeps): ReportActs {
  const ignored = new Map<Ignored, number>()
  const committed = (email: InboundEmail, findings: readonly Finding[]): void => {
    for (const { notice, ignored: why, facts } of findings) {
      const about = { report: email.id, client: email.client_address, ...facts }
      if (notice !== null) deps.offer(notice.enqueued, notice.raw)
      if (why === null) {
        deps.log.info(about, 'a report acted')
        continue
      }
      ignored.set(why, (ignored.get(why) ?? 0) + 1)
      deps.log.info({ ...about, why, times: ignored.get(why) }, 'a report changed nothing')
    }
  }
  return {
    ignored,
    judge: (email, digest): Judged => {
      const findings = findingsOf(deps, email, digest as ReportMail)
      const place = { id: email.id, workspaceId: email.workspace_id }
      const own = isKept(findings, email)
        ? [keepReport({ ...place, at: deps.clock() })]
        : [removeInbound(place), removeInboundRaw(place)]
      return {
        writes: [...own, ...findings.flatMap(({ writes }) => writes)],
        committed: () => committed(email, findings),
      }
    },
  }
}

/** Somebody may want to know what it was, since a recipient of ours had caused it. */
function isKept(findings: readonly Finding[], { size }: Pick<InboundEmail, 'size'>): boolean {
  const idle = findings.every(({ writes }) => writes.length === 0)
  return idle && findings.some(({ ignored }) => ignored === 'other-recipient') && size <= MAX_KEPT
}

/** One for each recipient that it speaks of, however many of its addresses lead there. */
function findingsOf(deps: ReportDeps, email: InboundEmail, mail: ReportMail): readonly Finding[] {
  const { report } = mail
  const findings = new Map<string, Finding>()
  for (const address of JSON.parse(email.envelope_to) as readonly Address[]) {
    const claim = claimAt(deps.policy, address, mail)
    const key = claim.kind === 'none' ? claim.why : claim.recipientId
    if (findings.has(key)) continue
    const finding = claim.kind === 'none' ? unclaimed(claim.why, report, address) : findingOf(deps, claim, deps.clock())
    findings.set(key, finding)
  }
  return [...findings.values()]
}

/** A token that is one of ours is kept out of the log: whoever reads it could use it. */
function unclaimed(why: Unclaimed, { type }: Report, to: Address): Finding {
  return nothing(why, why === 'no-token' || why === 'not-ours' ? { type, to } : { type })
}

function findingOf(deps: ReportDeps, claim: Proven, now: number): Finding {
  const subject = subjectOf(deps.read, claim.recipientId)
  const facts = { type: claim.kind, recipient: subject?.recipient.address, email: subject?.email.id }
  if (subject === null) return nothing('gone', { ...facts, id: claim.recipientId })
  const bounces = claim.kind === 'bounce' ? claim.bounces : []
  const fellows = bounces.length === 0 ? [] : fellowsOf(deps.read, subject.recipient)
  const bounce = bounceAbout(bounces, subject.recipient, fellows)
  const news = newsOf(claim, bounce)
  if (news === null) return nothing('other-recipient', { ...facts, named: namesIn(bounces) })
  const late = lateOutcome(deps.read, subject, news, now)
  const suppressions = suppressionsOf(subject, news, bounce, now)
  // Not its words: of a bounce in prose those are its body.
  const told = { ...facts, news: news.kind, reason: bounce?.reason }
  const notice = late.kind === 'acts' || isConfirmed(subject, news) ? noticeOf(deps, subject, bounce, now) : null
  const noticed = notice?.writes ?? []
  if (late.kind === 'acts') {
    return { writes: [...late.writes, ...suppressions, ...noticed], notice, ignored: null, facts: told }
  }
  // Who wants to hear no more may have been taken off the list since.
  const again = news.kind === 'unsubscribed' ? suppressions : []
  return { writes: [...again, ...noticed], notice, ignored: notice === null ? late.why : null, facts: told }
}

/** Delivered as far as we knew, and now as far as anybody knows: whoever asked for success waits for this. */
function isConfirmed({ recipient }: LateSubject, { kind }: LateNews): boolean {
  return kind === 'delivered' && recipient.status === 'delivered'
}

function nothing(ignored: Ignored, facts: Finding['facts']): Finding {
  return { writes: [], notice: null, ignored, facts }
}

/** The service's own mail is nobody's: what comes back for it ends here. */
function subjectOf(read: Read, recipientId: string): LateSubject | null {
  const [recipient] = recipientOfAnyWorkspace(read, { id: recipientId })
  if (recipient === undefined || recipient.workspace_id === SERVICE) return null
  const [email] = emailById(read, { workspaceId: recipient.workspace_id, id: recipient.email_id })
  return email === undefined ? null : { recipient, email }
}

/** Whom the same email went to beside this one: what is said of them is never said of it. */
function fellowsOf(read: Read, { id, workspace_id: workspaceId, email_id: emailId }: Recipient): readonly string[] {
  const all = recipientsOfEmail(read, { workspaceId, emailId })
  return all.filter((other) => other.id !== id).map(({ address }) => address)
}

function namesIn(bounces: readonly Bounce[]): readonly string[] {
  return bounces.slice(0, MAX_NAMED).flatMap(({ recipient }) => recipient ?? [])
}

/** Null: a bounce that speaks of others. */
function newsOf(claim: Proven, bounce: Bounce | null): LateNews | null {
  switch (claim.kind) {
    case 'bounce':
      return bounce === null ? null : bounceNews(bounce)
    case 'complaint':
      return { kind: 'complained', feedbackType: claim.feedbackType }
    case 'unsubscribe':
      return { kind: 'unsubscribed' }
    default:
      return assertNever(claim)
  }
}

const kinds = { permanent: 'refused', temporary: 'given-up', delayed: 'delayed' } as const

function bounceNews({ kind, reason, diagnostic }: Bounce): LateNews {
  if (kind === 'delivered') return { kind, diagnostic }
  const known = reason ?? 'unclassified'
  return { kind: kinds[kind], reason: known, diagnostic: diagnostic || reasonSentence(known) }
}

function suppressionsOf({ recipient, email }: LateSubject, news: LateNews, bounce: Bounce | null, at: number): Write[] {
  const add = (reason: NewSuppression['reason'], metadata: NewSuppression['metadata']): Write[] => {
    const address = recipient.address as Address
    const { workspace_id: workspaceId, id: sourceEmailId } = email
    return [addSuppression({ workspaceId, email: address, reason, sourceEmailId, metadata, at })]
  }
  if (news.kind === 'unsubscribed') return add('unsubscribe', {})
  if (news.kind === 'complained') return add('spam_complaint', { feedback_type: news.feedbackType })
  if (bounce?.recipientsFault !== true) return []
  const { reason, diagnostic } = bounce
  const words = diagnostic === '' ? {} : { diagnostic_code: diagnostic }
  return add('hard_bounce', { bounce_type: 'hard', bounce_subtype: reason, ...words })
}

/** One that cannot be built does not hold up the rest. */
function noticeOf(deps: ReportDeps, subject: LateSubject, bounce: Bounce | null, now: number): LateNotice | null {
  const { read, notices, log } = deps
  if (notices === null || bounce === null) return null
  try {
    return lateNotice(read, notices, subject, bounce, now)
  } catch (error) {
    // Then the report waits, and its notification with it.
    if (error instanceof StorageFault) throw error
    log.error({ err: error, email: subject.email.id }, 'a notification could not be built')
    return null
  }
}
