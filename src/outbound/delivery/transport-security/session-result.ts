/** Tells TLS reports what the opening of a session, or a policy that rules a host out, says. Pure. */
import type { Host } from '../hosts/destination.js'
import { securityOf } from '../hosts/host-security.js'
import type { TlsFailure, TlsSessionResult } from '../hosts/tls-result.js'

export type OnTlsResult = (result: TlsSessionResult) => void

/** Characters. */
const MAX_DETAIL = 200

interface SessionFacts {
  readonly domain: string
  readonly failure: TlsFailure | null
  readonly sendingAddress: string | null
  readonly at: number
}

export function toSessionResult(host: Host, { domain, failure, sendingAddress, at }: SessionFacts): TlsSessionResult {
  return {
    ...{ domain, policy: securityOf(host).applied, sendingAddress, at },
    failure: failure === null ? null : { ...failure, detail: failure.detail.slice(0, MAX_DETAIL) },
    receivingAddress: host.address,
    receivingHost: host.mx,
  }
}

/** The host was not called. */
export function toRefusedResult(host: Host, domain: string, at: number): TlsSessionResult | null {
  const { rule } = securityOf(host)
  if (rule.kind !== 'refused') return null
  const failure = { type: rule.failure, detail: rule.text }
  return toSessionResult(host, { domain, failure, sendingAddress: null, at })
}

/** The policy of a domain could not be had. */
export function toPolicyFailureResult(domain: string, failure: TlsFailure, at: number): TlsSessionResult {
  return {
    ...{ domain, at, policy: { type: 'sts', strings: [], hosts: [] } },
    failure: { ...failure, detail: failure.detail.slice(0, MAX_DETAIL) },
    ...{ sendingAddress: null, receivingAddress: null, receivingHost: null },
  }
}
