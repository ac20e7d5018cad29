/** Sends a report by a request over HTTPS (RFC 8460 section 5.4), only to public addresses. */
import { Agent } from 'node:https'
import type { AddressGuard } from '../../../base/platform/address-guard.js'
import type { Resolver } from '../../../base/platform/dns/resolver.js'
import { findHostAddresses } from '../../../base/platform/http/host-addresses.js'
import { toHttpFault } from '../../../base/platform/http/http-fault.js'
import { postOverHttps } from '../../../base/platform/http/https-get.js'

/** Milliseconds. */
const TIMEOUT = 30_000
/** The most bytes of an answer that are read, because only its status counts. */
const MAX_ANSWER_BYTES = 1_024
/** The most characters of a reason that is stored and logged. */
const MAX_FAULT_LENGTH = 200

const REPORT_TYPE = 'application/tlsrpt+gzip'

/** Resolves to what went wrong, or to null if the report was taken. */
export type PostReport = (url: URL, compressed: Buffer) => Promise<string | null>

interface PostDeps {
  readonly mayConnect: AddressGuard
  readonly resolveAddresses: Resolver['resolveAddresses']
  /** PEM certificates that are trusted instead of the system's. */
  readonly authorities: string | undefined
  readonly userAgent: string
  /** Aborts when the service stops, and ends a running request. */
  readonly signal: AbortSignal
}

export function createReportPost(deps: PostDeps): PostReport {
  // The receivers of a report are called at once, but each host gets one request after the other.
  const agent = new Agent({ maxSockets: 1 })
  return async (url, compressed) => {
    const found = await findHostAddresses(url, deps)
    if (deps.signal.aborted) return 'the service was stopped'
    if (found.kind === 'refused') return `${url.hostname} has no public address`
    if (found.kind === 'unresolved') return `${url.hostname}: ${found.reason}`
    const { addresses } = found
    const { authorities, signal, userAgent } = deps
    const limits = { addresses, timeout: TIMEOUT, maxBytes: MAX_ANSWER_BYTES, signal, authorities, agent }
    const headers = { 'content-type': REPORT_TYPE, 'user-agent': userAgent }
    try {
      const { status } = await postOverHttps(url, limits, { headers, body: compressed })
      return status >= 200 && status < 300 ? null : `${url.hostname} answered ${status}`
    } catch (error) {
      return `${url.hostname}: ${toHttpFault(error, true).message}`.slice(0, MAX_FAULT_LENGTH)
    }
  }
}
