/** The key pair of a webhook whose format is signed with ECDSA on the curve P-256. The receiver has the public key. */
import { generateKeyPairSync } from 'node:crypto'

interface VerificationKeys {
  /** SPKI in base64, as receivers are configured with it. */
  readonly verification_key: string
  /** PKCS #8 in base64. */
  readonly verification_secret: string
}

export function generateVerificationKeys(): VerificationKeys {
  const pair = generateKeyPairSync('ec', {
    namedCurve: 'prime256v1',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  })
  return {
    verification_key: pair.publicKey.toString('base64'),
    verification_secret: pair.privateKey.toString('base64'),
  }
}
