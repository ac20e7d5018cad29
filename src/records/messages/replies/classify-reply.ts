/**
 * Decides what a refusal means for the queue: whether to try again, what it concerns, and why.
 *
 * The code decides the class (RFC 5321 section 4.2.1), unless the text says that the problem is temporary. The text
 * decides the reason (`reply-patterns`), then the enhanced code, then the code (`status-reasons`). Invariants: before
 * MAIL everything is temporary, because a host that refuses us says nothing about the recipient; 421 always ends the
 * session; `recipientsFault` holds only for a permanent reply about a dead mailbox, to RCPT or to the message.
 *
 * Pure. Known limit: a server that calls every block "user unknown" (some Japanese mobile carriers do) cannot be
 * distinguished from an honest one.
 */
import type { Reason } from '../../../base/mail/reasons.js'
import type { Reply, Stage } from '../../../base/mail/reply.js'
import { isConditional } from './conditional-replies.js'
import { type PaceSignal, readPaceSignal } from './pace-signal.js'
import { findPattern } from './reply-patterns.js'
import { reasonOfCode, reasonOfStatus } from './status-reasons.js'

export type { Stage } from '../../../base/mail/reply.js'

interface ReplyClassification {
  readonly kind: 'temporary' | 'permanent'
  /** What the reply concerns: the session as a whole, the return path, the recipient, or the message. */
  readonly scope: 'session' | 'sender' | 'recipient' | 'message'
  readonly reason: Reason
  /** The enhanced status code of the class of `kind`. It is derived if the server gave none. */
  readonly status: string
  /** True if the mailbox itself is dead, which suppresses the address. */
  readonly recipientsFault: boolean
  /** True if the text says that the problem is temporary, whatever the code says. */
  readonly isTransient: boolean
  /** What the reply says about our pace. Shaping acts on it, and it is the reason if it names a limit. */
  readonly pace: PaceSignal | null
}

const scopes = {
  connect: 'session',
  banner: 'session',
  ehlo: 'session',
  starttls: 'session',
  auth: 'session',
  mail: 'sender',
  rcpt: 'recipient',
  data: 'message',
  message: 'message',
} as const satisfies Readonly<Record<Stage, ReplyClassification['scope']>>

const mailboxReasons: ReadonlySet<Reason> = new Set(['bad-mailbox', 'mailbox-disabled', 'mailbox-full', 'null-mx'])
const deadMailboxReasons: ReadonlySet<Reason> = new Set(['bad-mailbox', 'mailbox-disabled', 'null-mx'])

export function classifyReply(stage: Stage, reply: Reply): ReplyClassification {
  if (reply.code < 400) {
    return {
      kind: 'temporary',
      scope: 'session',
      reason: 'protocol',
      status: '4.5.0',
      recipientsFault: false,
      isTransient: true,
      pace: null,
    }
  }
  const enhanced = reply.enhanced ?? findQuotedStatus(reply.text)
  const pattern = findPattern({ stage, code: reply.code, enhanced, text: reply.text })
  const named = pattern?.reason ?? reasonOfStatus(enhanced) ?? reasonOfCode(reply.code, stage) ?? 'unclassified'
  // A reply to MAIL about a mailbox concerns the mailbox of the sender.
  const words = stage === 'mail' && mailboxReasons.has(named) ? 'sender-rejected' : named
  const pace = readPaceSignal(stage, reply, words)
  const reason = pace !== null && limits.has(pace) ? 'rate-limited' : words
  const scope = reply.code === 421 ? 'session' : scopes[stage]
  const permanent = reply.code >= 500 && scope !== 'session' && pattern?.temporary !== true
  const isDead = deadMailboxReasons.has(reason) && !isConditional(reply.text)
  return {
    kind: permanent ? 'permanent' : 'temporary',
    scope,
    reason,
    status: statusOf(permanent, enhanced, reason),
    recipientsFault: permanent && (stage === 'rcpt' || stage === 'message') && isDead,
    isTransient: pattern?.temporary === true,
    pace,
  }
}

/** Limits of pace. A host that slows us down has not blocked us, whatever it says about our mail. */
const limits: ReadonlySet<PaceSignal> = new Set(['sessions', 'messages', 'rate'])

/** Finds a code in the text, where qmail and Cisco put it: `no mailbox here by that name. (#5.1.1)`. */
function findQuotedStatus(text: string): string | null {
  return /#([45]\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1] ?? null
}

const defaultDetails: Readonly<Partial<Record<Reason, string>>> = {
  'bad-mailbox': '1.1',
  'mailbox-disabled': '2.1',
  'mailbox-full': '2.2',
  'bad-domain': '1.2',
  'null-mx': '1.10',
  policy: '7.1',
  'spam-block': '7.1',
  'spam-content': '7.1',
  content: '6.0',
  'too-large': '3.4',
  authentication: '7.26',
  'reverse-dns': '7.25',
  greylisted: '7.1',
  'rate-limited': '7.28',
  'relay-denied': '7.1',
  'sender-rejected': '1.8',
  credentials: '7.8',
  'smtputf8-unsupported': '6.7',
  'routing-loop': '4.6',
  'remote-error': '3.0',
  protocol: '5.0',
}

/** Returns the server's code in our class, or the code of the reason if there is none. */
function statusOf(permanent: boolean, enhanced: string | null, reason: Reason): string {
  const detail = enhanced === null ? (defaultDetails[reason] ?? '0.0') : enhanced.slice(2)
  return `${permanent ? 5 : 4}.${detail}`
}

/** `untrusted` means that encryption or certificate do not satisfy a policy of the domain. */
export type Failure = 'timeout' | 'refused' | 'reset' | 'closed' | 'tls' | 'untrusted' | 'unreachable' | 'protocol'

const failureReasons = {
  timeout: 'timeout',
  refused: 'connection-refused',
  reset: 'connection-lost',
  closed: 'connection-lost',
  tls: 'tls',
  untrusted: 'tls',
  unreachable: 'unreachable',
  protocol: 'protocol',
} as const satisfies Readonly<Record<Failure, Reason>>

/** Says why an attempt failed without a reply. Such a failure is always temporary. */
export function classifyFailure(stage: Stage, failure: Failure): { readonly reason: Reason } {
  // A peer that closes the connection during the handshake rejects our TLS.
  if (stage === 'starttls' && (failure === 'reset' || failure === 'closed')) return { reason: 'tls' }
  return { reason: failureReasons[failure] }
}
