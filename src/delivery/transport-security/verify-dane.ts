/**
 * Compares the certificates of a server with its TLSA records (RFC 7671 section 5, RFC 7672 section 3). Pure.
 *
 * DANE-EE: the certificate or key itself; names and dates do not count. DANE-TA: an issuer in the chain that the server
 * sent, or the one in the record; each certificate is signed by the next, all are valid now, and the server's is for one of
 * the names.
 *
 * Known limits: path lengths and name constraints are not read. They bind issuers below the one that the domain chose.
 */
import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { publicKeyOctetsOf } from './certificate-key.js'
import type { TlsFailure } from './tls-result.js'
import type { TlsaRecord } from './tlsa-record.js'

interface DaneDemand {
  readonly records: readonly TlsaRecord[]
  readonly names: readonly string[]
}

/** Null: verified. `chain`: the server's certificate first, then its issuers. */
export function verifyDane(
  chain: readonly X509Certificate[],
  { records, names }: DaneDemand,
  now: number,
): TlsFailure | null {
  const [leaf] = chain
  if (leaf === undefined) return { type: 'validation-failure', detail: 'the server sent no certificate' }
  try {
    if (records.some((record) => record.usage === 3 && matches(record, leaf))) return null
    return verifyByIssuer(chain, leaf, { records: records.filter(({ usage }) => usage === 2), names }, now)
  } catch {
    // OpenSSL does not know the kind of a key.
    return { type: 'certificate-not-trusted', detail: 'a certificate cannot be read' }
  }
}

function verifyByIssuer(
  chain: readonly X509Certificate[],
  leaf: X509Certificate,
  { records, names }: DaneDemand,
  now: number,
): TlsFailure | null {
  const path = findTrustedPath(chain, records)
  if (path === null) return { type: 'validation-failure', detail: 'no TLSA record matches a certificate of the server' }
  const late = path.find((certificate) => !isValidAt(certificate, now))
  if (late !== undefined) {
    const what = late === leaf ? 'the certificate' : 'the certificate of an issuer'
    return { type: 'certificate-expired', detail: `${what} is not valid now` }
  }
  if (names.some((name) => leaf.checkHost(name, { partialWildcards: false }) !== undefined)) return null
  return { type: 'certificate-host-mismatch', detail: `the certificate is not for ${names.join(' or ')}` }
}

/** From the server's certificate to the issuer that a record names; null: there is none. */
function findTrustedPath(
  chain: readonly X509Certificate[],
  records: readonly TlsaRecord[],
): readonly X509Certificate[] | null {
  const anchors = records.filter(({ matching }) => matching === 0).map(toAnchor)
  for (const [at, certificate] of chain.entries()) {
    const path = chain.slice(0, at + 1)
    const below = chain[at - 1]
    if (below !== undefined) {
      if (!hasIssued(certificate, below)) return null
      if (records.some((record) => matches(record, certificate))) return path
    }
    const anchor = anchors.find((one) => hasSigned(one, certificate))
    if (anchor !== undefined) return anchor instanceof X509Certificate ? [...path, anchor] : path
  }
  return null
}

/** The record holds the issuer's whole certificate, or its key alone. */
function toAnchor({ selector, data }: TlsaRecord): X509Certificate | KeyObject | null {
  try {
    return selector === 0 ? new X509Certificate(data) : createPublicKey({ key: data, format: 'der', type: 'spki' })
  } catch {
    return null
  }
}

function hasSigned(anchor: X509Certificate | KeyObject | null, certificate: X509Certificate): boolean {
  if (anchor === null) return false
  return anchor instanceof X509Certificate ? hasIssued(anchor, certificate) : certificate.verify(anchor)
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function isValidAt({ validFrom, validTo }: X509Certificate, now: number): boolean {
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo)
}

function matches({ selector, matching, data }: TlsaRecord, { raw }: X509Certificate): boolean {
  const selected = selector === 0 ? raw : publicKeyOctetsOf(raw)
  if (matching === 0) return selected.equals(data)
  return createHash(matching === 1 ? 'sha256' : 'sha512')
    .update(selected)
    .digest()
    .equals(data)
}
