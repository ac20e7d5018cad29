/**
 * The versions, ciphers and key exchanges of every TLS listener (RFC 9325): TLS 1.2 and 1.3, forward secrecy, and
 * authenticated encryption only. Clients cannot renegotiate.
 *
 * Groups are named because a client may choose among OpenSSL's own: a handshake with ffdhe8192 takes the main thread
 * tens of milliseconds, one with these less than one.
 */
import { constants } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'

const ciphers = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
]

const groups = 'X25519:prime256v1:secp384r1'
/** Known from OpenSSL 3.5 on, which Node.js 24 has. */
const postQuantumGroup = 'X25519MLKEM768'

export const serverTlsSettings = {
  minVersion: 'TLSv1.2',
  ciphers: ciphers.join(':'),
  ecdhCurve: knowsPostQuantum() ? `${postQuantumGroup}:${groups}` : groups,
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const satisfies SecureContextOptions

/**
 * The version tells, and no trial is made: a group that OpenSSL refuses leaves an error in its queue, and Node.js takes
 * that for an error of the next private key that it parses.
 */
function knowsPostQuantum(): boolean {
  const [major = 0, minor = 0] = process.versions.openssl.split('.').map(Number)
  return major > 3 || (major === 3 && minor >= 5)
}
