/**
 * The certificate and key that the listeners use: the configured pair, or a self-signed one.
 *
 * The self-signed pair is stored, so that clients that were given cert.pem keep trusting it. It is replaced when
 * it is broken, names another host, or expires within 30 days. It is not a CA: a client that trusts cert.pem
 * trusts this server alone. The two files are renamed into place one after the other; a crash in between leaves
 * a mismatched pair, which counts as broken. Files are read at the start and at a reload.
 */
import { X509Certificate } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { SubjectAltNameEntry } from 'selfsigned'
import { errorMessageOf } from './errors.js'
import { DAY } from './time-units.js'

/** PEM texts. */
export interface TlsPair {
  /** Chain included. */
  readonly cert: string
  readonly key: string
}

/** Answers with the context for the name that a client asks for; with none, the listener uses its own. */
export type SniCallback = (name: string, respond: (error: Error | null, context?: SecureContext) => void) => void

/** The certificates of a TLS listener: the pair, and others by name. */
export interface ListenerTls extends TlsPair {
  readonly SNICallback?: SniCallback | undefined
}

export interface TlsFiles extends TlsPair {
  /** The file that a client needs to trust a self-signed certificate. The certificate of an authority may have none. */
  readonly caFile: string
}

interface SelfSignedOptions {
  /** The folder where the pair is stored. */
  readonly folder: string
  readonly hostname: string
  readonly now: number
}

/** When the certificate expires, in ISO 8601 and UTC. */
export function certificateExpiry({ cert }: Pick<TlsPair, 'cert'>): string {
  return new Date(new X509Certificate(cert).validTo).toISOString()
}

/** If `configured` is null, the self-signed pair is loaded. */
export async function loadTlsFiles(
  configured: { readonly certFile: string; readonly keyFile: string } | null,
  selfSigned: SelfSignedOptions,
): Promise<TlsFiles> {
  if (configured !== null) return readTlsFiles(configured.certFile, configured.keyFile)
  return (await readStoredPair(selfSigned)) ?? createSelfSignedPair(selfSigned)
}

/** Throws, naming the files, if they cannot be read or do not belong together. */
export async function readTlsFiles(certFile: string, keyFile: string): Promise<TlsFiles> {
  const cert = await readFile(certFile, 'utf8')
  const key = await readFile(keyFile, 'utf8')
  try {
    // It is checked first, because createSecureContext accepts an empty file as no certificate.
    new X509Certificate(cert)
    createSecureContext({ cert, key })
  } catch (error) {
    throw new Error(`${certFile} and ${keyFile} are not a pair of certificate and key: ${errorMessageOf(error)}`)
  }
  return { cert, key, caFile: certFile }
}

/** The PEM text of certificates that are trusted. Throws, naming the file, if it cannot be read or does not begin with one. */
export async function readAuthorities(file: string): Promise<string> {
  const authorities = await readFile(file, 'utf8')
  try {
    new X509Certificate(authorities)
  } catch (error) {
    throw new Error(`${file} holds no certificate in PEM form: ${errorMessageOf(error)}`)
  }
  return authorities
}

async function readStoredPair({ folder, hostname, now }: SelfSignedOptions): Promise<TlsFiles | null> {
  const pair = await readTlsFiles(join(folder, 'cert.pem'), join(folder, 'key.pem')).catch(() => null)
  if (pair === null) return null
  const certificate = new X509Certificate(pair.cert)
  const good = Date.parse(certificate.validTo) - now > 30 * DAY && certificate.checkHost(hostname) !== undefined
  return good ? pair : null
}

async function createSelfSignedPair({ folder, hostname, now }: SelfSignedOptions): Promise<TlsFiles> {
  // It is loaded only here: it takes a quarter of a second, and most starts find a stored pair.
  const { generate } = await import('selfsigned')
  const generated = await generate([{ name: 'commonName', value: hostname.length <= 64 ? hostname : 'posthorn' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - DAY),
    notAfterDate: new Date(now + 730 * DAY),
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: altNames(hostname) },
    ],
  })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await replaceFile(join(folder, 'key.pem'), generated.private, 0o600)
  await replaceFile(join(folder, 'cert.pem'), generated.cert, 0o644)
  return { cert: generated.cert, key: generated.private, caFile: join(folder, 'cert.pem') }
}

/** Names (type 2) and addresses (type 7) by which clients on this machine or the network reach the server. */
function altNames(hostname: string): SubjectAltNameEntry[] {
  const names = [...new Set([hostname, 'localhost'])].map((value) => ({ type: 2 as const, value }))
  const addresses = ['127.0.0.1', '::1'].map((ip) => ({ type: 7 as const, ip }))
  return [...names, ...addresses]
}

async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  await writeFile(`${file}.new`, text, { mode })
  await rename(`${file}.new`, file)
}
