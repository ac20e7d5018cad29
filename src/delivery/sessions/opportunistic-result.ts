/**
 * What opening a session without a policy says for TLS reports (RFC 8460 section 4.3): was STARTTLS offered, and did it
 * work? Pure.
 *
 * Only hosts of the recipient's domain count: a smarthost says nothing about it, and the TLS of a route is the operator's
 * wish. A host that cannot be reached, or refuses the session, has said nothing about TLS.
 */
import type { Host } from '../hosts/destination.js'
import type { OpenResult } from '../smtp/smtp-client.js'
import type { AppliedPolicy, TlsFailure, TlsSessionResult } from '../transport-security/tls-result.js'
import { mayFallBackToPlain } from './tls-policy.js'

const noPolicy: AppliedPolicy = { type: 'no-policy-found', strings: [], hosts: [] }

/** Null: nothing is to be counted. */
export function describeSession(session: {
  readonly host: Host
  /** Null: mail of the service. */
  readonly domain: string | null
  /** The try with TLS; null: it was not tried, because it had failed before. */
  readonly first: OpenResult | null
  readonly opened: OpenResult
  readonly at: number
}): TlsSessionResult | null {
  const { host, domain, first, opened, at } = session
  if (domain === null || !host.final || host.tls === 'implicit' || host.auth !== null) return null
  const failure = first === null ? failedBefore : judgeFirst(host, first)
  if (failure === undefined) return null
  return {
    domain,
    policy: noPolicy,
    failure,
    sendingAddress: opened.kind === 'open' ? opened.session.connection.localAddress : null,
    receivingAddress: host.address,
    receivingHost: host.mx,
    at,
  }
}

const failedBefore: TlsFailure = { type: 'validation-failure', detail: 'TLS failed within the last hour' }

/** Null: TLS was used. Undefined: nothing was said about TLS. */
function judgeFirst(host: Host, first: OpenResult): TlsFailure | null | undefined {
  if (first.kind === 'open') {
    return first.session.tls === null ? { type: 'starttls-not-supported', detail: '' } : null
  }
  const { failure } = first
  if (!mayFallBackToPlain(host, failure) && failure.stage !== 'starttls') return undefined
  if (failure.kind === 'refused') {
    return { type: 'starttls-not-supported', detail: `STARTTLS was answered with ${failure.reply.code}` }
  }
  return { type: 'validation-failure', detail: failure.detail }
}
