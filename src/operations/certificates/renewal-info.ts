/**
 * The id of a certificate for renewal information (RFC 9773 section 4.1): the key identifier of its issuer and its serial
 * number, both base64url, joined by a dot.
 */
import { X509Certificate } from 'node:crypto'

/** The extension authorityKeyIdentifier (2.5.29.35), as it is encoded. */
const AUTHORITY_KEY_IDENTIFIER = Buffer.from('0603551d23', 'hex')
const OCTET_STRING = 0x04
const SEQUENCE = 0x30
const KEY_IDENTIFIER = 0x80

/** Null if the certificate does not name the key of its issuer. */
export function renewalInfoId(pem: string): string | null {
  const { raw, serialNumber } = new X509Certificate(pem)
  const key = findKeyIdentifier(raw)
  if (key === null) return null
  const digits = serialNumber.length % 2 === 0 ? serialNumber : `0${serialNumber}`
  const serial = Buffer.from(digits, 'hex')
  // A DER integer has a zero byte before a first bit that is set, so that it is not negative.
  const signed = ((serial[0] ?? 0) & 0x80) === 0 ? serial : Buffer.concat([Buffer.from([0]), serial])
  return `${key.toString('base64url')}.${signed.toString('base64url')}`
}

/** These elements are shorter than 128 bytes, so that their length is one byte. */
function findKeyIdentifier(raw: Buffer): Buffer | null {
  const at = raw.indexOf(AUTHORITY_KEY_IDENTIFIER)
  if (at === -1) return null
  const head = raw.subarray(at + AUTHORITY_KEY_IDENTIFIER.length)
  const length = head[5] ?? 0
  const isExpected = head[0] === OCTET_STRING && head[2] === SEQUENCE && head[4] === KEY_IDENTIFIER
  return isExpected && length > 0 && length < 128 ? head.subarray(6, 6 + length) : null
}
