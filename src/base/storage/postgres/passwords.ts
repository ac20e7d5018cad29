/**
 * The password of a connection: from the setting's file, else the URL, else PGPASSWORD, else the password file of
 * PostgreSQL's programs (`~/.pgpass`).
 *
 * pg reads that file too, but warns that it will not any longer, and reads no comments, no escaped backslash before a
 * colon, and no entry of `localhost` for the socket.
 */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCodeOf } from '../../platform/errors.js'
import type { ServerSource } from '../db/database.js'
import { ConnectionSettingsError, DEFAULT_SOCKET_FOLDER, type HostAddress } from './connection-url.js'

/** The variables of the environment that count. */
export type PostgresEnvironment = ServerSource['environment']

export interface PasswordSources {
  /** Empty if there is none. */
  readonly passwordFile: string
  /** The password of the URL. */
  readonly password: string | undefined
  readonly environment: PostgresEnvironment
  readonly user: string
  readonly database: string
}

/** Files are read for each connection, so that a new password needs no restart. */
export async function findPassword(sources: PasswordSources, address: HostAddress): Promise<string> {
  const { passwordFile, password, environment } = sources
  if (passwordFile !== '') return readPasswordFile(passwordFile)
  const given = password ?? environment.PGPASSWORD
  return given === undefined || given === '' ? searchPgpass(sources, address) : given
}

async function readPasswordFile(path: string): Promise<string> {
  const allowed = 'a readable file with the password alone'
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const found = `found "${path}", which cannot be read (${errorCodeOf(error)})`
    throw new ConnectionSettingsError('storage.password_file', found, allowed)
  })
  const password = text.replace(/\r?\n$/, '')
  if (password !== '') return password
  throw new ConnectionSettingsError('storage.password_file', `found "${path}", which is empty`, allowed)
}

async function searchPgpass(sources: PasswordSources, address: HostAddress): Promise<string> {
  const { PGPASSFILE, HOME } = sources.environment
  const path = PGPASSFILE || join(HOME || '/', '.pgpass')
  const { lines, reason } = await readPgpass(path)
  const asked = [nameOf(address), String(address.port), sources.database, sources.user]
  for (const line of lines) {
    const [password, ...fields] = splitFields(line).reverse()
    if (fields.length === 4 && fields.reverse().every((field, index) => field === '*' || field === asked[index])) {
      return password ?? ''
    }
  }
  const cure = 'name a file in storage.password_file'
  throw new Error(`the server asks for a password, and none is set (${path}: ${reason}): ${cure}`)
}

interface Pgpass {
  readonly lines: readonly string[]
  /** Why it gives no password. */
  readonly reason: string
}

/** A file that others may read is not used, as PostgreSQL's programs have it. */
async function readPgpass(path: string): Promise<Pgpass> {
  try {
    const status = await stat(path)
    if (!status.isFile()) return { lines: [], reason: 'no file' }
    if ((status.mode & 0o077) !== 0) return { lines: [], reason: 'others may read it, so it is not used: chmod 600' }
    const text = await readFile(path, 'utf8')
    return { lines: text.split(/\r?\n/).filter((line) => !line.startsWith('#')), reason: 'no line fits' }
  } catch (error) {
    return { lines: [], reason: errorCodeOf(error) }
  }
}

/** The socket in its usual place is `localhost` there. */
function nameOf({ host }: HostAddress): string {
  return host === DEFAULT_SOCKET_FOLDER ? 'localhost' : host
}

/** `host:port:database:user:password`, with `\:` and `\\`. The password may have colons. */
function splitFields(line: string): string[] {
  const fields: string[] = []
  let rest = line
  for (let count = 0; count < 4; count++) {
    const [field] = /^(?:\\.|[^\\:])*/.exec(rest) ?? ['']
    if (rest[field.length] !== ':') return []
    fields.push(field)
    rest = rest.slice(field.length + 1)
  }
  return [...fields, rest].map((field) => field.replace(/\\(.)/g, '$1'))
}
