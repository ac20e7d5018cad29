/**
 * The server's reply that a report quotes, and what it means.
 *
 * The class comes from what the report states, then from the reply; the reason always from `classify-reply`, so
 * that a bounce in a report and a refusal in a session are classified alike.
 */

import { toOneLine } from '../../../base/mail/printable.js'
import type { Reason } from '../../../base/mail/reasons.js'
import type { Reply } from '../../../base/mail/reply.js'
import { classifyReply, type Stage } from '../../../records/messages/replies/classify-reply.js'
import type { Bounce, BounceKind } from './report.js'

const MAX_DIAGNOSTIC = 1_000
/** Length of a line without words, such as `550 5.1.1 `. */
const BARE_CODES = 12

const replyStart = /(?:^|[\s:;[>"'(])([245]\d\d)[ -](?:\(?#?)?(?:([245]\.\d{1,3}\.\d{1,3})\b\)?)?/
const statusPattern = /(?:^|[\s(:#[])([245]\.\d{1,3}\.\d{1,3})(?=$|[\s):;\],-])/

/** The reply in `text`, which is one line. Null if it quotes none. */
export function findReply(text: string): Reply | null {
  const found = replyStart.exec(text)
  if (found === null) return null
  const [start, code, enhanced] = found
  return { code: Number(code), enhanced: enhanced ?? null, text: text.slice(found.index + start.length).trim() }
}

/** An enhanced status code anywhere in `text`, or null. */
function findStatus(text: string): string | null {
  return statusPattern.exec(text)?.[1] ?? null
}

/** Puts the text on one line, no longer than what is kept of a diagnostic. */
export function toDiagnostic(text: string): string {
  return toOneLine(text, MAX_DIAGNOSTIC)
}

interface BounceFacts {
  /** The class that the report states. Null if it states none. */
  readonly kind: BounceKind | null
  readonly status: string | null
  /** The server's text, or the report's own. */
  readonly diagnostic: string
  /** More text of the report, for the reason if the diagnostic has none. */
  readonly prose?: string
}

type Meaning = Pick<Bounce, 'kind' | 'status' | 'reason' | 'recipientsFault' | 'diagnostic'>

export function interpretBounce({ kind, status, diagnostic, prose = '' }: BounceFacts): Meaning {
  const line = toDiagnostic(diagnostic)
  const quoted = findReply(line)
  const known = status ?? quoted?.enhanced ?? findStatus(line)
  if (kind === 'delivered') return { kind, status: known, reason: null, recipientsFault: false, diagnostic: line }
  const failed = kind ?? kindOfReply(known, quoted) ?? 'permanent'
  const reply = {
    code: codeOfKind(quoted?.code, failed),
    enhanced: asSpecificStatus(quoted?.enhanced) ?? asSpecificStatus(known) ?? known,
    // Postfix was refused in the greeting, so the text concerns us, whatever it says.
    text: /refused to talk to me/.test(line) ? line : (quoted?.text ?? line),
  }
  const first = classifyReply(stageOf(line), reply)
  const all = `${line} ${prose}`.trim()
  const isMore = all.length > reply.text.length + BARE_CODES
  const read = first.reason === 'unclassified' && isMore ? classifyReply('rcpt', { ...reply, text: all }) : first
  // A lookup to be repeated is never permanent, whatever code its reporter gave it.
  const passing = failed === 'permanent' && read.isTransient && read.reason === 'dns'
  return {
    kind: passing ? 'temporary' : failed,
    status: known,
    reason: refineReason(read.reason, failed, line, prose),
    recipientsFault: failed === 'permanent' && read.recipientsFault,
    diagnostic: line,
  }
}

/**
 * The class of the code decides. The enhanced code comes first, since relays replace the other. But a 421 concerns the
 * session, never the message (RFC 5321 section 3.8): a server that gave up after it gave up for a temporary reason.
 */
export function kindOfReply(status: string | null, reply: Reply | null): 'permanent' | 'temporary' | null {
  if (reply?.code === 421) return 'temporary'
  const specific = status !== null && /^[45]/.test(status)
  if (specific && reply !== null && status.endsWith('.0.0') && reply.code >= 400) return kindOfDigit(String(reply.code))
  return kindOfDigit(specific ? status : String(reply?.code ?? ''))
}

function kindOfDigit(text: string): 'permanent' | 'temporary' | null {
  if (text.startsWith('5')) return 'permanent'
  return text.startsWith('4') ? 'temporary' : null
}

/** A status that only states the class is worth less than the text. */
function asSpecificStatus(status: string | null | undefined): string | null {
  return status === null || status === undefined || status.endsWith('.0.0') ? null : status
}

function codeOfKind(code: number | undefined, kind: BounceKind): number {
  const digit = kind === 'permanent' ? 5 : 4
  if (code !== undefined && Math.floor(code / 100) === digit) return code
  return digit === 5 ? 550 : 450
}

const expiredPattern =
  /could not be delivered (for|within)|(for|after|within) (the last )?\d{1,9} (days?|hours?)\b|too long/i

/** If a report ends a temporary problem and names no other one, the message expired. */
function refineReason(reason: Reason, kind: BounceKind, line: string, prose: string): Reason {
  if (reason !== 'unclassified') return reason
  return kind !== 'delayed' && expiredPattern.test(`${line} ${prose}`) ? 'expired' : reason
}

function stageOf(line: string): Stage {
  if (/end of data|TEXT command|reply to (end of )?DATA|after (end of )?data/i.test(line)) return 'message'
  return /mail[_ ]from(\]| ?command|:<)|sender was rejected/i.test(line) ? 'mail' : 'rcpt'
}
