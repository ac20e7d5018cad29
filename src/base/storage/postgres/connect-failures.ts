/** Says why a host cannot be used, and what the operator can do about it. */
import { errorCodeOf, errorMessageOf } from '../../platform/errors.js'
import type { HostAddress } from './connection-url.js'

export const NO_TLS = 'The server does not support SSL connections'
export const TIMEOUT = 'timeout expired'

/** The server is there, and takes no writes. */
export class NoWriter extends Error {
  override name = 'NoWriter'
}

interface Attempt {
  readonly host: HostAddress
  /** Milliseconds. */
  readonly maxConnect: number
  /** The setting that names the trusted certificates. Empty if it is the trust of Node.js. */
  readonly trust: string
}

export function describeConnectFailure(error: unknown, attempt: Attempt): string {
  const code = errorCodeOf(error)
  const message = withoutForeignAdvice(errorMessageOf(error))
  if (error instanceof NoWriter) return message
  if (isTimeout(error)) return `has not answered within ${attempt.maxConnect / 1000} s`
  const said = [message, code === '' || message.includes(code) ? '' : `(${code})`]
    .filter((part) => part !== '')
    .join(' ')
  const cure = findCure(code, message, attempt)
  return `says: ${said}${cure === undefined ? '' : `: ${cure}`}`
}

export function isTimeout(error: unknown): boolean {
  return errorMessageOf(error).includes(TIMEOUT)
}

/** Newer versions of Node.js advise an option of their own, where storage.ca_file is the cure. */
function withoutForeignAdvice(message: string): string {
  const [said = ''] = message.split('; if the root CA is installed locally', 1)
  return said
}

/** The code, and what the operator can do. */
const cures: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'does it run, and listen there?'],
  ['ENOENT', 'does it run, and is its socket there?'],
  ['ENOTFOUND', 'the name is unknown'],
  ['28P01', 'see storage.password_file'],
  ['28000', 'see pg_hba.conf of the server'],
  ['3D000', 'create the database'],
  ['53300', 'raise max_connections of the server'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'use a name of its certificate in storage.url'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'name its certificate in storage.ca_file'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'name the certificate of its authority in storage.ca_file'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'name the certificate of its authority in storage.ca_file'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'name the certificate of its authority in storage.ca_file'],
  [NO_TLS, 'switch ssl on there, or write sslmode=disable where the network is trusted'],
])

function findCure(code: string, message: string, { host, trust }: Attempt): string | undefined {
  const cure = cures.get(code) ?? cures.get(message)
  // A socket is never encrypted, and the server says so of each refused one.
  if (code === '28000' && message.includes('no encryption') && !host.host.startsWith('/')) {
    return 'add ?sslmode=verify-full to storage.url, or a line for it to pg_hba.conf of the server'
  }
  const [, kind, name] = /^too many connections for (role|database) "(.+)"$/.exec(message) ?? []
  if (code === '53300' && kind !== undefined) return `raise its limit: alter ${kind} "${name}" connection limit -1`
  if (trust !== '' && cure?.endsWith('storage.ca_file') === true) {
    return `its certificate was not issued by what ${trust} names: name that of its authority there`
  }
  return cure
}
