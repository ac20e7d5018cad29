/** Judges the certificates of a TLS session by the rule for its host, after the handshake. */
import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { assertNever } from '../../../base/mail/assert-never.js'
import type { TlsRule } from '../hosts/host-security.js'
import type { TlsFailure, TlsFailureType } from '../hosts/tls-result.js'
import { verifyDane } from './verify-dane.js'

/** The most certificates from the server's own to the last issuer. */
const MAX_CHAIN = 10

interface SessionJudgement {
  /** Null if the session is as the rule demands. */
  readonly failure: TlsFailure | null
  /** What proved the server, for people, such as `verified by DANE`. Null if nothing did. */
  readonly proof: string | null
}

/** `sts-testing` reports a failure like `sts-enforce`, but the caller continues. */
export function judgeSession(socket: TLSSocket, rule: TlsRule, now: number): SessionJudgement {
  switch (rule.kind) {
    case 'none':
      return { failure: null, proof: null }
    case 'refused':
      // Such a host is not called. If it were, it would get nothing.
      return { failure: { type: rule.failure, detail: rule.text }, proof: null }
    case 'dane': {
      if (rule.records.length === 0) return { failure: null, proof: null }
      return toJudgement(verifyDane(chainOf(socket), rule, now), 'verified by DANE')
    }
    case 'sts-testing':
      if (!rule.isListed) return { failure: unlistedFailure, proof: null }
      return toJudgement(findPkixFailure(socket), 'verified by MTA-STS')
    case 'sts-enforce':
      return toJudgement(findPkixFailure(socket), 'verified by MTA-STS')
    case 'verified':
      return toJudgement(findPkixFailure(socket), 'verified')
    default:
      return assertNever(rule)
  }
}

const unlistedFailure: TlsFailure = {
  type: 'validation-failure',
  detail: 'the MTA-STS policy does not list the host',
}

function toJudgement(failure: TlsFailure | null, proof: string): SessionJudgement {
  return { failure, proof: failure === null ? proof : null }
}

/** The codes of Node.js. Any other code means that the chain is not trusted. */
const failureTypes: Readonly<Record<string, TlsFailureType>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate-host-mismatch',
  CERT_HAS_EXPIRED: 'certificate-expired',
  CERT_NOT_YET_VALID: 'certificate-expired',
}

/** Returns what OpenSSL and Node.js found about chain, dates and name during the handshake. */
function findPkixFailure({ authorized, authorizationError }: TLSSocket): TlsFailure | null {
  if (authorized) return null
  const code = String(authorizationError)
  return { type: failureTypes[code] ?? 'certificate-not-trusted', detail: `the certificate is not valid (${code})` }
}

function chainOf(socket: TLSSocket): readonly X509Certificate[] {
  const chain: X509Certificate[] = []
  let found = socket.getPeerCertificate(true)
  while (found?.raw !== undefined && chain.length < MAX_CHAIN) {
    chain.push(new X509Certificate(found.raw))
    const issuer = found.issuerCertificate
    if (issuer === found) break
    found = issuer
  }
  return chain
}
