/**
 * Judges an exchange with one host: what it means for the recipient, and whether another host is called.
 *
 * | what happened                                    | outcome  | next host?             |
 * |--------------------------------------------------|----------|------------------------|
 * | accepted                                         | accepted | no                     |
 * | the server offers too little for the message     | refused  | no                     |
 * | the server does not offer REQUIRETLS             | refused  | yes                    |
 * | 5xx about sender, recipient or message           | refused  | no                     |
 * | 5xx about the session (greeting, EHLO, policy)   | deferred | yes                    |
 * | 5xx that asks for encryption or a login          | deferred | yes                    |
 * | 5xx to how we talk (wrong order, syntax)         | deferred | yes                    |
 * | "we do not relay" of a smarthost                 | deferred | yes                    |
 * | 4xx, 421                                         | deferred | yes                    |
 * | too many sessions, too fast, blocked, greylisted | deferred | one of another provider |
 * | 4xx, 5xx because the session came over IPv6      | deferred | yes, over IPv4         |
 * | no connection, timeout, connection lost, TLS     | deferred | yes                    |
 * | TLS not as a policy of the domain demands        | deferred | yes                    |
 * | lost between the final dot and its reply         | deferred | no: no duplicates      |
 *
 * A 5xx to the connection concerns us and not the mailbox, and another host may accept the message. If no host does, the
 * outcome stays a deferral; Postfix does the same (smtp_skip_5xx_greeting). After a 4xx the next host is called, which
 * Postfix does too. One attempt begins a transaction at two hosts at most, calls five hosts in all, and calls none after
 * its time is over.
 */
import { assertNever } from '../../../base/mail/assert-never.js'
import type { Reason } from '../../../base/mail/reasons.js'
import { formatReply, type Reply } from '../../../base/mail/reply.js'
import { classifyFailure, classifyReply, type Stage } from '../../../records/messages/replies/classify-reply.js'
import type { Host } from '../hosts/destination.js'
import { isIpv6Refusal } from '../hosts/ipv6-refusal.js'
import type { AttemptOutcome } from '../smtp/attempt-result.js'
import { TLS_NOT_PASSED_ON } from '../smtp/envelope.js'
import type { Exchange, SendResult, SmtpFailure } from '../smtp/send-result.js'

export interface AttemptLimits {
  /** The most hosts that one attempt calls. */
  readonly hosts: number
  /** The most hosts at which one attempt begins a transaction. */
  readonly transactions: number
  /** Milliseconds after which no other host is called. The time of waiting for slots does not count. */
  readonly time: number
  /** Milliseconds after which the call of one host is cut off. */
  readonly cutOff: number
}

export const defaultAttemptLimits: AttemptLimits = { hosts: 5, transactions: 2, time: 300_000, cutOff: 840_000 }

export interface Verdict {
  readonly outcome: AttemptOutcome
  readonly shouldTryNext: boolean
}

/** Adds the `retryAt` of the exchange to a verdict that defers the message. */
export function withRetryTime(verdict: Verdict, retryAt: number | undefined): Verdict {
  if (retryAt === undefined || verdict.outcome.kind !== 'deferred') return verdict
  return { ...verdict, outcome: { ...verdict.outcome, retryAt } }
}

export function judgeSendResult(sent: SendResult, host: Host): Verdict {
  switch (sent.kind) {
    case 'accepted': {
      const { reply, dsnRelayed } = sent
      return { outcome: { kind: 'accepted', final: host.final, reply, dsnRelayed }, shouldTryNext: false }
    }
    case 'unsendable':
      // This text is ours. It must not look like a reply of the server.
      return {
        outcome: { ...toRefusedOutcome('message', sent.reply), response: `not sent: ${sent.reply.text}` },
        shouldTryNext: sent.reply.enhanced === TLS_NOT_PASSED_ON,
      }
    case 'refused':
      return judgeReply(sent.stage, sent.reply, host)
    case 'failed':
      return { outcome: toDeferredOutcome(sent, host), shouldTryNext: sent.stage !== 'message' }
    default:
      return assertNever(sent)
  }
}

function judgeReply(stage: Stage, reply: Reply, host: Host): Verdict {
  const { kind, scope, reason, status, pace } = classifyReply(stage, reply)
  const isAboutPace = stage === 'mail' && pace !== null
  const isAboutUs = isAboutPace || isOurFault(stage, reply, reason, host) || isIpv6Refusal(host, reply)
  const isFinal = kind === 'permanent' && scope !== 'session' && !isAboutUs
  if (isFinal) return { outcome: toRefusedOutcome(stage, reply), shouldTryNext: false }
  const temporary = `4${status.slice(1)}`
  return {
    outcome: { kind: 'deferred', reason, response: formatReply(reply), reached: true, status: temporary },
    shouldTryNext: true,
  }
}

/** Tells whether a reply is about our configuration or protocol ("log in first"), and so must not bounce mail. */
function isOurFault(stage: Stage, { code }: Reply, reason: Reason, { final }: Host): boolean {
  if (loginCodes.has(code) || reason === 'tls') return true
  // Such a reply of an MX is about the message (SPF, DMARC, a closed group); that of a smarthost is about our route.
  if (reason === 'credentials' || reason === 'relay-denied') return !final
  return reason === 'protocol' && (stage === 'mail' || stage === 'data')
}

/** RFC 4954 section 6, RFC 3207 section 4. */
const loginCodes: ReadonlySet<number> = new Set([530, 534, 535, 538])

function toRefusedOutcome(stage: Stage, reply: Reply): Extract<AttemptOutcome, { kind: 'refused' }> {
  const { reason, status, recipientsFault } = classifyReply(stage, reply)
  return { kind: 'refused', reason, response: formatReply(reply), status, recipientsFault }
}

type NoReplyFailure = Extract<SmtpFailure, { kind: 'failed' }>

const stagePhrases: Readonly<Record<Stage, string>> = {
  connect: 'while connecting',
  banner: 'while waiting for the greeting',
  ehlo: 'after EHLO',
  starttls: 'after STARTTLS',
  auth: 'after AUTH',
  mail: 'after MAIL',
  rcpt: 'after RCPT',
  data: 'while sending the message',
  message: 'after the end of the message, which may arrive twice',
}

function toDeferredOutcome({ stage, failure, detail }: NoReplyFailure, host: Host): AttemptOutcome {
  const { reason } = classifyFailure(stage, failure)
  const response = `${host.mx} [${host.address}]:${host.port}: ${detail} ${stagePhrases[stage]}`
  const deferral = { kind: 'deferred', reason, response, reached: stage !== 'connect' && stage !== 'banner' } as const
  return failure === 'untrusted' ? { ...deferral, status: '4.7.5' } : deferral
}

/** `elapsed` is the time in milliseconds that the calls so far took. */
export function mayTryAnother(
  calls: readonly Pick<Exchange, 'sent'>[],
  elapsed: number,
  limits: AttemptLimits,
): boolean {
  const transactions = calls.filter(({ sent }) => hasBegunTransaction(sent))
  return calls.length < limits.hosts && transactions.length < limits.transactions && elapsed < limits.time
}

function hasBegunTransaction(sent: SendResult): boolean {
  return 'stage' in sent && ['mail', 'rcpt', 'data', 'message'].includes(sent.stage)
}

/** Picks the deferral to report: one with a server's reply before one without, else the later one. */
export function pickMoreInformative<Deferral extends { readonly sent: SendResult }>(
  earlier: Deferral | null,
  later: Deferral,
): Deferral {
  return earlier?.sent.kind === 'refused' && later.sent.kind === 'failed' ? earlier : later
}
