/**
 * SPF (RFC 7208) of the return path's domain, or of the HELO name if the return path is null.
 *
 * mailauth in its strict mode does the work: the complete record is parsed before it is evaluated; at most ten
 * terms that query DNS, two void lookups, ten names of an MX or PTR term. A DNS fault is `temperror`, never
 * `fail`.
 *
 * Mass mail has another return path in each message. What is found holds for all senders of a domain unless its policy
 * reads the local part (macros `s` and `l`); the reason alone names the sender.
 *
 * Known limits: HELO is not checked beside a return path (section 2.3 recommends it). mailauth accepts no domain
 * with an underscore: `none`.
 */
import type { DNSResolver } from 'mailauth'
import { spf } from 'mailauth/lib/spf/index.js'
import type { Connection, SpfResult, SpfVerdict } from '../../mail/authentication-results.js'

export interface SpfFinding {
  readonly verdict: SpfVerdict
  /** The reason, split where it names the sender; null: what was found may hold for no other sender. */
  readonly reasonParts: readonly string[] | null
}

/** All that the check reads but the local part of the sender. */
export function toSpfKey({ clientAddress, helo, envelopeFrom, hostname }: Connection): string {
  const domain = envelopeFrom === '' ? null : envelopeFrom.slice(envelopeFrom.lastIndexOf('@') + 1)
  return JSON.stringify([clientAddress, helo, domain, hostname])
}

export async function checkSpf(connection: Connection, resolver: DNSResolver, time: number): Promise<SpfFinding> {
  const { clientAddress, helo, envelopeFrom, hostname } = connection
  const identity = envelopeFrom === '' ? 'helo' : 'mailfrom'
  const { status, domain, explanation } = await spf({
    sender: envelopeFrom,
    ip: clientAddress,
    helo,
    mta: hostname,
    resolver,
    strict: true,
    maxElapsedTime: time,
  })
  const verdict: SpfVerdict = {
    result: spfResultOf(status.result),
    identity,
    domain: domain === '-' || domain === undefined ? '' : domain,
    reason: reasonOf(status.comment, hostname),
    explanation: explanation ?? null,
  }
  const readsLocalPart = envelopeFrom !== '' && status.smtp?.mailfrom === envelopeFrom
  return { verdict, reasonParts: readsLocalPart ? null : splitReason(verdict, envelopeFrom) }
}

/** What was found about one sender, for another one of the same key. */
export function toSpfVerdict({ verdict, reasonParts }: SpfFinding, { envelopeFrom }: Connection): SpfVerdict {
  return reasonParts === null ? verdict : { ...verdict, reason: reasonParts.join(envelopeFrom) }
}

/** The explanation of a failure may contain the sender and the time (RFC 7208 section 7.2). */
function splitReason({ result, reason }: SpfVerdict, sender: string): SpfFinding['reasonParts'] {
  if (result === 'fail' || result === 'temperror' || reason === null) return null
  const parts = sender === '' ? [reason] : reason.split(sender)
  return parts.length <= 2 ? parts : null
}

const results: Readonly<Record<string, SpfResult>> = {
  pass: 'pass',
  fail: 'fail',
  softfail: 'softfail',
  neutral: 'neutral',
  none: 'none',
  temperror: 'temperror',
  permerror: 'permerror',
}

function spfResultOf(word: string): SpfResult {
  return results[word] ?? 'temperror'
}

/** mailauth begins it with our name, which the field has already. */
function reasonOf(comment: string | undefined, hostname: string): string | null {
  if (comment === undefined) return null
  return comment.startsWith(`${hostname}: `) ? comment.slice(hostname.length + 2) : comment
}
