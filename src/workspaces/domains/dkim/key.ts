/**
 * DKIM key pairs, generated or imported (RFC 6376 section 3.6.1, RFC 8301).
 *
 * New keys are RSA with 2048 bits, which every verifier supports and whose record fits two TXT strings. Imported keys
 * may have 1024 to 4096 bits, which verifiers must support (RFC 8301 section 3.2).
 */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { Refusal } from '../../../base/mail/refusal.js'

export interface DkimKeyPair {
  /** PKCS#8 PEM. */
  readonly privateKey: string
  /** Value of the TXT record at `<selector>._domainkey.<domain>`. */
  readonly publicRecord: string
  readonly bits: number
}

const NEW_BITS = 2048
const MIN_BITS = 1024
const MAX_BITS = 4096

const generate = promisify(generateKeyPair)

export async function generateDkimKey(): Promise<DkimKeyPair> {
  const { privateKey } = await generate('rsa', { modulusLength: NEW_BITS })
  return toKeyPair(privateKey, NEW_BITS)
}

/** A private key from a PEM text, PKCS#1 or PKCS#8, not encrypted. */
export function importDkimKey(pem: string): DkimKeyPair {
  const key = parsePrivateKey(pem)
  if (key.asymmetricKeyType !== 'rsa') {
    throw new Refusal('invalid-parameter', `the key is of type ${key.asymmetricKeyType}: DKIM keys here are RSA`)
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits < MIN_BITS || bits > MAX_BITS) {
    throw new Refusal('invalid-parameter', `the key has ${bits} bits: allowed are ${MIN_BITS} to ${MAX_BITS}`)
  }
  return toKeyPair(key, bits)
}

function parsePrivateKey(pem: string): KeyObject {
  if (/ENCRYPTED/.test(pem)) {
    throw new Refusal('invalid-parameter', 'the key is encrypted: export it without a passphrase first')
  }
  try {
    return createPrivateKey(pem)
  } catch {
    throw new Refusal('invalid-parameter', 'not a private key in PEM: PKCS#1 or PKCS#8 is expected')
  }
}

function toKeyPair(key: KeyObject, bits: number): DkimKeyPair {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
  return {
    privateKey: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicRecord: `v=DKIM1; k=rsa; p=${spki.toString('base64')}`,
    bits,
  }
}
