/** Sends a report by a request over HTTPS (RFC 8460 section 5.4), to public addresses alone. */
import type { AddressGuard } from '../../platform/address-guard.js'
import type { Resolver } from '../../platform/dns/resolver.js'
import { errorMessageOf } from '../../platform/errors.js'
import { findHostAddresses } from '../../platform/http/host-addresses.js'
import type { HttpClient } from '../../platform/http/http-client.js'

/** Milliseconds. */
const TIMEOUT = 30_000
/** Characters of a reason that is stored and logged. */
const MAX_FAULT_LENGTH = 200

const REPORT_TYPE = 'application/tlsrpt+gzip'

/** Resolves to what went wrong; null: the report was taken. */
export type PostReport = (url: URL, compressed: Buffer) => Promise<string | null>

interface PostDeps {
  readonly mayConnect: AddressGuard
  readonly resolveAddresses: Resolver['resolveAddresses']
  readonly http: Pick<HttpClient, 'post'>
  readonly userAgent: string
  /** Strikes when the service stops, which closes `http` too. */
  readonly signal: AbortSignal
}

export function createReportPost(deps: PostDeps): PostReport {
  return async (url, compressed) => {
    const found = await findHostAddresses(url, deps)
    if (deps.signal.aborted) return 'the service was stopped'
    if (found.kind === 'refused') return `${url.hostname} has no public address`
    if (found.kind === 'unresolved') return `${url.hostname}: ${found.reason}`
    try {
      const { status } = await deps.http.post({
        url,
        headers: { 'content-type': REPORT_TYPE, 'user-agent': deps.userAgent },
        body: compressed,
        timeout: TIMEOUT,
        addresses: found.addresses,
      })
      return status >= 200 && status < 300 ? null : `${url.hostname} answered ${status}`
    } catch (error) {
      return `${url.hostname}: ${errorMessageOf(error)}`.slice(0, MAX_FAULT_LENGTH)
    }
  }
}
