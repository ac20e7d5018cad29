/** Makes the results for TLS reports: of the opening of a session, and of a policy that excludes a host. Pure. */
import type { Host } from '../hosts/destination.js'
import { securityOf } from '../hosts/host-security.js'
import type { TlsFailure, TlsSessionResult } from '../hosts/tls-result.js'

export type OnTlsResult = (result: TlsSessionResult) => void

/** The most characters of a detail. */
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

/** The result of a host that was not called. */
export function toRefusedResult(host: Host, domain: string, at: number): TlsSessionResult | null {
  const { rule } = securityOf(host)
  if (rule.kind !== 'refused') return null
  const failure = { type: rule.failure, detail: rule.text }
  return toSessionResult(host, { domain, failure, sendingAddress: null, at })
}

/** The result of a policy that could not be fetched. */
export function toPolicyFailureResult(domain: string, failure: TlsFailure, at: number): TlsSessionResult {
  return {
    ...{ domain, at, policy: { type: 'sts', strings: [], hosts: [] } },
    failure: { ...failure, detail: failure.detail.slice(0, MAX_DETAIL) },
    ...{ sendingAddress: null, receivingAddress: null, receivingHost: null },
  }
}
