/**
 * The settings of `[storage]` become what a connection to PostgreSQL needs.
 *
 * `sslmode` means what it does in libpq: `prefer` and `require` encrypt and verify nothing, but `require` with trusted
 * certificates verifies as `verify-ca` does. Where it is absent, the certificate and the name are verified, except on
 * loopback addresses, where nothing is encrypted. Sockets are never encrypted.
 */
import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { userInfo } from 'node:os'
import { type ConnectionOptions, createSecureContext, rootCertificates } from 'node:tls'
import { errorCodeOf, errorMessageOf } from '../../platform/errors.js'
import type { ServerSource } from '../db/database.js'
import { ConnectionSettingsError, type HostAddress, parseConnectionUrl, type TlsMode } from './connection-url.js'
import { findPassword, type PasswordSources, type PostgresEnvironment } from './passwords.js'

export interface HostSettings extends HostAddress {
  /** False if the connection is not encrypted. */
  readonly tls: ConnectionOptions | false
  /** A server that cannot encrypt is taken without. */
  readonly isTlsOptional: boolean
}

export interface ConnectionSettings {
  readonly source: ServerSource
  readonly hosts: readonly HostSettings[]
  readonly user: string
  readonly database: string
  readonly schema: string
  /** Milliseconds for one host. Undefined: the default. */
  readonly maxConnect: number | undefined
  readonly findPassword: (address: HostAddress) => Promise<string>
}

/** @throws ConnectionSettingsError */
export function readConnectionSettings(
  storage: ServerSource['storage'],
  environment: PostgresEnvironment,
): ConnectionSettings {
  const { url, passwordFile, caFile, schema } = storage
  const parsed = parseConnectionUrl(url)
  const user = parsed.user ?? (environment.PGUSER || userInfo().username)
  const database = parsed.database ?? user
  const sources: PasswordSources = { passwordFile, password: parsed.password, environment, user, database }
  const authorities =
    caFile === ''
      ? readAuthorities('storage.url', parsed.authorities ?? '')
      : readAuthorities('storage.ca_file', caFile)
  return {
    source: { storage, environment },
    hosts: parsed.hosts.map((address) => withTls(address, parsed.tlsMode, authorities)),
    user,
    database,
    schema: checkSchema(schema),
    maxConnect: parsed.maxConnect,
    findPassword: (address) => findPassword(sources, address),
  }
}

function checkSchema(schema: string): string {
  if (/^(?!pg_)[a-z_][a-z\d_]{0,62}$/.test(schema)) return schema
  const allowed = 'small letters, digits and _, up to 63, not beginning with a digit or pg_'
  throw new ConnectionSettingsError('storage.schema', `found "${schema}"`, allowed)
}

/** Null if no file is named, or the trust of the system is. */
function readAuthorities(key: string, path: string): readonly string[] | null {
  if (path === '' || path === 'system') return null
  try {
    const text = readFileSync(path, 'utf8')
    if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('it has no certificate')
    createSecureContext({ ca: text })
    return [...rootCertificates, text]
  } catch (error) {
    const reason = errorCodeOf(error) || errorMessageOf(error)
    throw new ConnectionSettingsError(
      key,
      `found "${path}", which cannot be used (${reason})`,
      'a readable file of certificates (PEM)',
    )
  }
}

function withTls(
  address: HostAddress,
  asked: TlsMode | undefined,
  authorities: readonly string[] | null,
): HostSettings {
  const mode = address.host.startsWith('/') ? 'disable' : (asked ?? (isLoopback(address) ? 'disable' : 'verify-full'))
  const isTlsOptional = mode === 'prefer'
  if (mode === 'disable') return { ...address, tls: false, isTlsOptional }
  const isVerified = mode === 'verify-ca' || mode === 'verify-full' || (mode === 'require' && authorities !== null)
  if (!isVerified) return { ...address, tls: { rejectUnauthorized: false }, isTlsOptional }
  const trust: ConnectionOptions = authorities === null ? {} : { ca: [...authorities] }
  const anyName: ConnectionOptions = mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }
  return { ...address, tls: { rejectUnauthorized: true, ...trust, ...anyName }, isTlsOptional }
}

function isLoopback({ host }: HostAddress): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
