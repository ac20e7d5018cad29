/**
 * SPF (RFC 7208) of the return path's domain, or of the HELO name where the path is null.
 *
 * mailauth in its strict mode does the work: the whole record is read before it is judged,
 * ten terms that ask DNS, two void answers, ten names of an MX or PTR term. A DNS fault is
 * `temperror` there, never `fail`.
 *
 * Known limits: HELO is not checked beside a return path (section 2.3 recommends it). mailauth
 * takes no domain with an underscore: `none`.
 */
import { type DNSResolver, spf } from 'mailauth'
import type { Connection, SpfResult, SpfVerdict } from '../../mail/authentication-results.js'

export async function checkSpf(connection: Connection, resolver: DNSResolver, time: number): Promise<SpfVerdict> {
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
  return {
    result: spfResultOf(status.result),
    identity,
    domain: domain === '-' || domain === undefined ? '' : domain,
    reason: reasonOf(status.comment, hostname),
    explanation: explanation ?? null,
  }
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

/** mailauth begins it with our name, which the field names anyway. */
function reasonOf(comment: string | undefined, hostname: string): string | null {
  if (comment === undefined) return null
  return comment.startsWith(`${hostname}: `) ? comment.slice(hostname.length + 2) : comment
}
