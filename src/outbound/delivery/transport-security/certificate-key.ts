/**
 * The public key of a certificate, as the octets that are in it (SubjectPublicKeyInfo, RFC 5280 section 4.1). Pure.
 *
 * OpenSSL would encode the key anew, which need not give the same octets. Throws RangeError if it is no certificate.
 */
export function publicKeyOctetsOf(certificate: Buffer): Buffer {
  const outer = readElement(certificate, 0)
  const body = readElement(certificate, outer.start)
  let at = body.start
  // The version is optional; then come serial number, signature, issuer, validity and subject.
  const isVersion = certificate.readUInt8(at) === VERSION_TAG
  for (let left = isVersion ? 6 : 5; left > 0; left -= 1) at = readElement(certificate, at).end
  return certificate.subarray(at, readElement(certificate, at).end)
}

const VERSION_TAG = 0xa0

interface DerElement {
  /** Of its content. */
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
