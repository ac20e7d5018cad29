/**
 * Tells what happened to each recipient of an email as steps in the order of time, in words for people. The page of an
 * email, `posthorn explain` and the REST interface show the same sentences. Pure.
 */
import { adviseOn, describeReason, type Reason } from '../../../base/mail/reasons.js'
import { describeSuppression } from '../../suppressions/describe-suppression.js'
import type { AttemptDetails, EmailDetails, RecipientDetails } from '../email-details.js'
import { describeLaterReport, describeNext, type TimedText } from './describe-next.js'
import { describeReaders } from './describe-readers.js'
import type { KnownSuppression, StoryEvent, StoryFacts, SuppressionRemoval } from './story-facts.js'

type StepKind =
  | 'accepted'
  | 'not-sent'
  | 'attempt'
  | 'report'
  | 'ended'
  | 'opened'
  | 'clicked'
  | 'complained'
  | 'unsubscribed'
  | 'suppressed'
  | 'unsuppressed'

export interface StoryStep {
  readonly kind: StepKind
  /** Null if the time is not known. */
  readonly at: string | null
  readonly title: string
  readonly sentences: readonly string[]
  /** Only steps of the kind `attempt` have it. */
  readonly attempt: AttemptDetails | null
  /** The id of the entry of the suppression list that the step tells of. */
  readonly suppression: string | null
}

export interface RecipientStory {
  readonly recipient: RecipientDetails
  readonly steps: readonly StoryStep[]
  /** Null if nothing comes next. */
  readonly next: TimedText | null
}

export function tellStory(
  email: EmailDetails,
  { events, suppressions, removals }: StoryFacts,
): readonly RecipientStory[] {
  const byRecipient = Map.groupBy(events, ({ recipient }) => recipient.toLowerCase())
  const isShared = email.recipients.filter(({ status }) => status !== 'suppressed').length > 1
  return email.recipients.map((recipient) => {
    const key = recipient.email.toLowerCase()
    const entry = suppressions === null ? undefined : (suppressions.get(key) ?? null)
    const removal = entry === null ? (removals.get(key) ?? null) : null
    const subject = { email, recipient, events: byRecipient.get(key) ?? [], entry, removal, isShared }
    return { recipient, steps: tellRecipient(subject), next: describeNext(recipient) }
  })
}

/** What the steps of one recipient are told from. */
interface Subject {
  readonly email: EmailDetails
  readonly recipient: RecipientDetails
  readonly events: readonly StoryEvent[]
  /** Null if the address is not on the list. Undefined if that is not known. */
  readonly entry: KnownSuppression | null | undefined
  /** Null if the address is on the list, or was never taken off it as far as the audit log knows. */
  readonly removal: SuppressionRemoval | null
  /** Several recipients have the same pixel and links. */
  readonly isShared: boolean
}

function tellRecipient(subject: Subject): readonly StoryStep[] {
  const { recipient, events, isShared } = subject
  const steps = [
    ...tellAcceptance(subject),
    ...recipient.attempts.map((attempt) => tellAttempt(attempt, attempt === recipient.attempts.at(-1))),
    ...tellReport(subject),
    ...tellEnd(subject),
    ...describeReaders(events, isShared).map((step) => toStep(step)),
    ...tellEntry(subject),
    ...tellRemoval(subject),
  ]
  return sortSteps(steps)
}

type PartialStep = Pick<StoryStep, 'kind' | 'at' | 'title' | 'sentences'> & Partial<StoryStep>

function toStep(step: PartialStep): StoryStep {
  return { attempt: null, suppression: null, ...step }
}

/** Sorts by time. A step without a time stays behind the step before it. */
function sortSteps(steps: readonly StoryStep[]): readonly StoryStep[] {
  let latest = ''
  return steps
    .map((step) => {
      latest = step.at ?? latest
      return { step, at: latest }
    })
    .sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0))
    .map(({ step }) => step)
}

function tellAcceptance({ email, recipient, events, entry }: Subject): StoryStep[] {
  const { created_at: at, scheduled_for: scheduledFor, from } = email
  const accepted = `Posthorn accepted the email from ${from}.`
  const suppressed = events.find(({ type }) => type === 'email.suppressed')
  if (recipient.status === 'suppressed' && recipient.attempts.length === 0) {
    return [
      toStep({ kind: 'accepted', at, title: 'Accepted', sentences: [accepted] }),
      toStep({
        kind: 'not-sent',
        at: suppressed?.at ?? at,
        title: `Not sent, because the address ${entry === null ? 'was' : 'is'} suppressed`,
        sentences: explainSuppression(suppressed, entry),
        suppression: entry?.id ?? null,
      }),
    ]
  }
  const queued =
    scheduledFor === null
      ? 'The address was not on the suppression list, so the email was queued.'
      : 'The address was not on the suppression list. The email was to wait for the time that its sender has set.'
  return [toStep({ kind: 'accepted', at, title: 'Accepted', sentences: [accepted, queued] })]
}

function explainSuppression(event: StoryEvent | undefined, entry: Subject['entry']): readonly string[] {
  if (entry !== undefined && entry !== null) {
    return [`The address is on the suppression list because ${describeSuppression(entry.reason)}.`]
  }
  const because = readCause(event)
  const was = `The address was on the suppression list${because === null ? '' : ` because ${because}`}.`
  return entry === null ? [was, 'It is no longer on the list, so you can send the email again.'] : [was]
}

function readCause(event: StoryEvent | undefined): string | null {
  const reason = event?.data['reason']
  const known = (['hard_bounce', 'spam_complaint', 'manual', 'unsubscribe'] as const).find((one) => one === reason)
  return known === undefined ? null : describeSuppression(known)
}

const outcomeWords: Readonly<Record<AttemptDetails['outcome'], { readonly title: string; readonly next: string }>> = {
  delivered: {
    title: 'delivered',
    next: 'The server of the recipient accepted the email. It decides whether the email is in the inbox or in the spam folder.',
  },
  sent: { title: 'passed on', next: 'The next server accepted the email and delivers it further.' },
  deferred: { title: 'deferred', next: 'Posthorn tries again later.' },
  bounced: { title: 'bounced', next: 'Posthorn does not try again.' },
  failed: { title: 'failed', next: 'Posthorn does not try again.' },
}

function tellAttempt(attempt: AttemptDetails, isLast: boolean): StoryStep {
  const { number, at, outcome, reason } = attempt
  const { title, next } = outcomeWords[outcome]
  const isFinal = isLast && (outcome === 'bounced' || outcome === 'failed')
  return toStep({
    kind: 'attempt',
    at,
    title: `Attempt ${number}: ${title}`,
    sentences: [...describeReasonIn(reason, isFinal), next],
    attempt,
  })
}

/** Says what a reason means, and if nothing more is tried, what to do. */
function describeReasonIn(reason: Reason | null, isFinal: boolean): readonly string[] {
  if (reason === null) return []
  const advice = isFinal ? adviseOn(reason) : null
  return [describeReason(reason), ...(advice === null ? [] : [advice])]
}

/** Tells what a report said after the last attempt had delivered the message. */
function tellReport({ recipient, events }: Subject): StoryStep[] {
  const report = describeLaterReport(recipient)
  const last = recipient.attempts.at(-1)
  if (report === null || last === undefined) return []
  const types = recipient.status === last.outcome ? ['email.bounced', 'email.delivered'] : [`email.${recipient.status}`]
  const at = events.findLast((event) => types.includes(event.type) && event.at > last.at)?.at ?? null
  const title = `${report.charAt(0).toUpperCase()}${report.slice(1)}`
  const sentences = describeReasonIn(recipient.reason, recipient.status === 'bounced')
  return [toStep({ kind: 'report', at, title, sentences })]
}

/** Tells the end of a message that no attempt and no report has ended. */
function tellEnd({ recipient, events }: Subject): StoryStep[] {
  const { status, attempts, reason, last_response: response } = recipient
  const last = attempts.at(-1)
  if (status === 'cancelled') {
    const sentences = ['It was cancelled before its time, so nothing was sent.']
    return [toStep({ kind: 'ended', at: null, title: 'Cancelled', sentences })]
  }
  const isEnded = status === 'failed' || status === 'bounced' || (status === 'suppressed' && last !== undefined)
  if (!isEnded || (last !== undefined && last.outcome !== 'deferred')) return []
  const at = events.findLast(({ type }) => type === `email.${status}`)?.at ?? null
  if (status === 'suppressed') {
    const sentences = [
      'The address came onto the suppression list while the email waited, so Posthorn does not try again.',
    ]
    return [toStep({ kind: 'ended', at, title: 'Suppressed', sentences })]
  }
  const reply = last === undefined && response !== null ? [response] : []
  const title = status === 'failed' ? 'Failed' : 'Bounced'
  return [toStep({ kind: 'ended', at, title, sentences: [...reply, ...describeReasonIn(reason, true)] })]
}

/** Tells what an outcome or another email has done to the address. */
function tellEntry({ email, recipient, events, entry, removal }: Subject): StoryStep[] {
  if (entry === undefined || (recipient.status === 'suppressed' && recipient.attempts.length === 0)) return []
  if (entry === null) {
    if (removal !== null && removal.at >= email.created_at) {
      const because = describeSuppression(removal.reason)
      const sentences = [`It came onto the suppression list because ${because}.`]
      return [toStep({ kind: 'suppressed', at: null, title: 'This address was suppressed', sentences })]
    }
    const bounced = recipient.status === 'bounced'
    if (!bounced && !events.some(({ type }) => type === 'email.complained')) return []
    const sentences = ['The address is not on the suppression list, so later email is sent to it.']
    return [toStep({ kind: 'suppressed', at: null, title: 'Not suppressed', sentences })]
  }
  const because = describeSuppression(entry.reason)
  const ofThis = entry.emailId === email.id
  const title = ofThis ? 'This address is now suppressed' : 'This address is suppressed'
  const other = ofThis ? '' : ' This email was not the cause.'
  const sentences = [`It is on the suppression list because ${because}. No further email is sent to it.${other}`]
  return [toStep({ kind: 'suppressed', at: entry.at, title, sentences, suppression: entry.id })]
}

/** Tells that a person has taken the address off the list since the email was accepted. */
function tellRemoval({ email, removal }: Subject): StoryStep[] {
  if (removal === null || removal.at < email.created_at) return []
  const sentences = ['Later email is sent to it. This email is not sent again by itself.']
  const title = 'The address was taken off the suppression list'
  return [toStep({ kind: 'unsuppressed', at: removal.at, title, sentences })]
}
