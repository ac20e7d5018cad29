/**
 * Compares the certificates of a server with its TLSA records (RFC 7671 section 5, RFC 7672 section 3). Pure.
 *
 * DANE-EE names the certificate or key itself; names and dates do not count. DANE-TA names an issuer in the chain that
 * the server sent, or has the issuer in the record: each certificate is signed by the next, all are valid now, and the
 * server's certificate is for one of the names.
 *
 * The work is bounded: each form of a certificate is hashed once, and signatures are verified for a few certificates.
 *
 * Known limits: path lengths and name constraints are not read. They bind issuers below the one that the domain chose.
 */
import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { TlsFailure } from '../hosts/tls-result.js'
import type { TlsaRecord } from '../hosts/tlsa-record.js'

const VERSION_TAG = 0xa0

/** The most records with a whole certificate or key of an issuer that are tried. Each may cost a verification. */
const MAX_ANCHORS = 2

interface DaneDemand {
  readonly records: readonly TlsaRecord[]
  readonly names: readonly string[]
}

/** Returns null if the server is verified. `chain` has the server's certificate first, then its issuers. */
export function verifyDane(
  chain: readonly X509Certificate[],
  { records, names }: DaneDemand,
  now: number,
): TlsFailure | null {
  const [leaf] = chain
  if (leaf === undefined) return { type: 'validation-failure', detail: 'the server sent no certificate' }
  try {
    const matchesLeaf = createMatcher(leaf)
    if (records.some((record) => record.usage === 3 && matchesLeaf(record))) return null
    return verifyByIssuer(chain, leaf, { records: records.filter(({ usage }) => usage === 2), names }, now)
  } catch {
    // OpenSSL does not know this kind of key.
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

/** Finds the path from the server's certificate to the issuer that a record names. Returns null if there is none. */
function findTrustedPath(
  chain: readonly X509Certificate[],
  records: readonly TlsaRecord[],
): readonly X509Certificate[] | null {
  if (records.length === 0) return null
  const path: X509Certificate[] = []
  for (const certificate of chain) {
    const below = path.at(-1)
    if (below !== undefined && !hasIssued(certificate, below)) break
    path.push(certificate)
    if (below !== undefined && records.some(createMatcher(certificate))) return path
  }
  return extendByRecord(path, records)
}

/** Adds what the server does not send, but the record contains: the issuer's whole certificate, or its key. */
function extendByRecord(
  path: readonly X509Certificate[],
  records: readonly TlsaRecord[],
): readonly X509Certificate[] | null {
  const top = path.at(-1)
  for (const record of records.filter(({ matching }) => matching === 0).slice(0, MAX_ANCHORS)) {
    const anchor = readAnchor(record)
    if (anchor instanceof X509Certificate) {
      const at = path.findIndex((certificate) => hasIssued(anchor, certificate))
      if (at !== -1) return [...path.slice(0, at + 1), anchor]
    } else if (anchor !== null && top?.verify(anchor) === true) return path
  }
  return null
}

function readAnchor({ selector, data }: TlsaRecord): X509Certificate | KeyObject | null {
  try {
    return selector === 0 ? new X509Certificate(data) : createPublicKey({ key: data, format: 'der', type: 'spki' })
  } catch {
    return null
  }
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function isValidAt({ validFrom, validTo }: X509Certificate, now: number): boolean {
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo)
}

/** Returns a function that tells whether a record matches this certificate. */
function createMatcher({ raw }: X509Certificate): (record: TlsaRecord) => boolean {
  const forms = new Map<string, Buffer>()
  return ({ selector, matching, data }) => {
    const key = `${selector} ${matching}`
    const form = forms.get(key) ?? toForm(selector === 0 ? raw : publicKeyOctetsOf(raw), matching)
    forms.set(key, form)
    return form.equals(data)
  }
}

function toForm(octets: Buffer, matching: TlsaRecord['matching']): Buffer {
  if (matching === 0) return octets
  return createHash(matching === 1 ? 'sha256' : 'sha512')
    .update(octets)
    .digest()
}

/**
 * Returns the public key of a certificate as the octets in it (SubjectPublicKeyInfo, RFC 5280 section 4.1). Pure.
 *
 * OpenSSL would encode the key again, which need not give the same octets. Throws a RangeError if it is no certificate.
 */
export function publicKeyOctetsOf(certificate: Buffer): Buffer {
  const outer = readElement(certificate, 0)
  const body = readElement(certificate, outer.start)
  let at = body.start
  // The version is optional. Serial number, signature, issuer, validity and subject follow.
  const isVersion = certificate.readUInt8(at) === VERSION_TAG
  for (let left = isVersion ? 6 : 5; left > 0; left -= 1) at = readElement(certificate, at).end
  return certificate.subarray(at, readElement(certificate, at).end)
}

interface DerElement {
  /** The offset at which the content begins. */
  readonly start: number
  readonly end: number
}

function readElement(bytes: Buffer, at: number): DerElement {
  const first = bytes.readUInt8(at + 1)
  const lengthOctets = first < 0x80 ? 0 : first & 0x7f
  if (lengthOctets > 4 || first === 0x80) throw new RangeError('a length that DER does not have')
  const start = at + 2 + lengthOctets
  const length = lengthOctets === 0 ? first : bytes.readUIntBE(at + 2, lengthOctets)
  if (start + length > bytes.length) throw new RangeError('an element that is cut off')
  return { start, end: start + length }
}
