/**
 * Checks SPF (RFC 7208) of the return path's domain, or of the HELO name if the return path is null.
 *
 * mailauth in its strict mode does the work: the complete record is parsed before it is evaluated; at most ten terms
 * that query DNS, two void lookups, ten names of an MX or PTR term. A DNS fault is `temperror`, never `fail`.
 *
 * Mass mail has another return path in each message. What is found holds for all senders of a domain unless its policy
 * reads the local part (macros `s` and `l`); the reason alone names the sender.
 *
 * mailauth judges no domain with an underscore, and takes a host of an MX record that is no domain name for a permanent
 * error; see `JudgedNames`.
 *
 * Known limit: HELO is not checked if there is a return path (section 2.3 recommends it).
 */
import type { DNSResolver } from 'mailauth'
import { spf } from 'mailauth/lib/spf/index.js'
import type { Connection, SpfResult, SpfVerdict } from '../../../base/mail/authentication-results.js'

export interface SpfFinding {
  readonly verdict: SpfVerdict
  /** The reason, split where it names the sender. Null if what was found may hold for no other sender. */
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
  const domain = envelopeFrom.slice(envelopeFrom.lastIndexOf('@') + 1)
  const names = new JudgedNames(envelopeFrom === '' ? helo : domain)
  const sender = `${envelopeFrom.slice(0, envelopeFrom.length - domain.length)}${envelopeFrom === '' ? '' : names.judged}`
  const found = await spf({
    ...{ sender, ip: clientAddress, mta: hostname },
    helo: envelopeFrom === '' ? names.judged : helo,
    resolver: (name, type) => names.resolve(resolver, name, type),
    strict: true,
    maxElapsedTime: time,
  })
  const { status } = found
  const verdict: SpfVerdict = {
    result: spfResultOf(status.result),
    identity,
    domain: found.domain === '-' || found.domain === undefined ? '' : names.restore(found.domain),
    reason: names.restore(reasonOf(status.comment, hostname)),
    explanation: names.restore(found.explanation ?? null),
  }
  const readsLocalPart = envelopeFrom !== '' && status.smtp?.mailfrom === sender
  return { verdict, reasonParts: readsLocalPart ? null : splitReason(verdict, envelopeFrom) }
}

/**
 * The names that mailauth gets. Labels with an underscore are replaced by others, and put back in questions and texts.
 */
class JudgedNames {
  readonly judged: string
  private readonly written: string
  private readonly labels = new Map<string, string>()

  constructor(domain: string) {
    this.written = domain
    this.judged = domain
      .split('.')
      .map((label) => (label.includes('_') ? this.exchange(label) : label))
      .join('.')
  }

  /** RFC 7208 section 5.4: a host that is no domain name has no address, and does not match. */
  async resolve(resolver: DNSResolver, name: string, type: string): ReturnType<DNSResolver> {
    const answer = await resolver(this.restoreName(name), type)
    if (type !== 'MX') return answer
    const hosts = answer.slice()
    for (let at = hosts.length - 1; at >= 0; at -= 1) if (!isMatchable(hosts[at])) hosts.splice(at, 1)
    return hosts
  }

  restore<Text extends string | null>(text: Text): Text
  restore(text: string | null): string | null {
    return text === null || this.labels.size === 0 ? text : text.replaceAll(this.judged, this.written)
  }

  private exchange(label: string): string {
    const other = `underscore-${this.labels.size}`
    this.labels.set(other, label)
    return other
  }

  private restoreName(name: string): string {
    if (this.labels.size === 0) return name
    return name
      .split('.')
      .map((label) => this.labels.get(label) ?? label)
      .join('.')
  }
}

/**
 * A host of an MX record with at least two labels, the last of them no number. Anything else is a word or an address.
 */
function isMatchable(host: unknown): boolean {
  if (typeof host !== 'object' || host === null || !('exchange' in host)) return false
  const labels = String(host.exchange).replace(/\.$/, '').split('.')
  return labels.length > 1 && labels.every((label) => label !== '') && !/^\d+$/.test(labels.at(-1) ?? '')
}

/** Applies the finding about one sender to another one of the same key. */
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
