/**
 * Fetches the MTA-STS policy of a domain over HTTPS (RFC 8461 section 3.3). It verifies the certificate, follows no
 * redirects, accepts only text/plain, and calls only addresses that the guard allows, because the domain's owner
 * chooses them.
 */
import type { AddressGuard } from '../../../base/platform/address-guard.js'
import type { Resolver } from '../../../base/platform/dns/resolver.js'
import { errorCodeOf, errorMessageOf } from '../../../base/platform/errors.js'
import { findHostAddresses } from '../../../base/platform/http/host-addresses.js'
import { getOverHttps } from '../../../base/platform/http/https-get.js'
import type { TlsFailure } from '../hosts/tls-result.js'
import { parseStsPolicy, type StsPolicy } from './sts-policy.js'

interface PolicyFetchDeps {
  readonly resolveAddresses: Resolver['resolveAddresses']
  readonly mayDial: AddressGuard
  /** The port of the policy's host. */
  readonly port: number
  /** PEM certificates that are trusted instead of the system's. */
  readonly authorities: string | undefined
}

export type FetchStsPolicy = (domain: string, signal: AbortSignal) => Promise<StsPolicy | TlsFailure>

/** Milliseconds for the whole request. */
const FETCH_TIMEOUT = 60_000
const MAX_POLICY_BYTES = 64 * 1024
const CERTIFICATE_CODES = /CERT|^UNABLE_|SIGNATURE|^CRL_|^PATH_LENGTH|_CA$/

/** Never rejects. */
export function createPolicyFetcher({ port, authorities, ...rules }: PolicyFetchDeps): FetchStsPolicy {
  return async (domain, signal) => {
    const url = new URL(`https://mta-sts.${domain}:${port}/.well-known/mta-sts.txt`)
    const host = await findHostAddresses(url, { resolveAddresses: rules.resolveAddresses, mayConnect: rules.mayDial })
    if (host.kind === 'refused') return toFetchFailure(`the addresses of ${url.hostname} are not public`)
    if (host.kind === 'unresolved') return toFetchFailure(`${url.hostname}: ${host.reason}`)
    try {
      const limits = { timeout: FETCH_TIMEOUT, maxBytes: MAX_POLICY_BYTES + 1, authorities, signal }
      return readAnswer(await getOverHttps(url, { addresses: host.addresses, ...limits }))
    } catch (error) {
      const isCertificate = CERTIFICATE_CODES.test(errorCodeOf(error))
      const detail = errorMessageOf(error)
      return isCertificate ? { type: 'sts-webpki-invalid', detail } : toFetchFailure(detail)
    }
  }
}

interface PolicyAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

function readAnswer({ status, contentType, body }: PolicyAnswer): StsPolicy | TlsFailure {
  if (status !== 200) return toFetchFailure(`HTTP status ${status}`)
  if (!/^text\/plain(?:[ \t]*;|[ \t]*$)/i.test(contentType)) return toInvalid('it is not text/plain')
  if (Buffer.byteLength(body) > MAX_POLICY_BYTES) return toInvalid(`it is longer than ${MAX_POLICY_BYTES} bytes`)
  const policy = parseStsPolicy(body)
  return 'fault' in policy ? toInvalid(`its ${policy.fault} is missing or wrong`) : policy
}

function toFetchFailure(detail: string): TlsFailure {
  return { type: 'sts-policy-fetch-error', detail }
}

function toInvalid(detail: string): TlsFailure {
  return { type: 'sts-policy-invalid', detail: `the policy is not valid: ${detail}` }
}
