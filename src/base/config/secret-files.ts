/**
 * Reads secrets from separate files: `password_file = "PATH"` in place of `password`. The content of the file is
 * checked like a value that the configuration states, and problems name the key of the file.
 *
 * A path may begin with `$CREDENTIALS_DIRECTORY/` (LoadCredential= of systemd). Those files exist only while the
 * service runs, so a command that works without them takes the secret as not set. Limit: 64 KB.
 */
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { errorMessageOf } from '../platform/errors.js'
import type { Problem } from './problems.js'

interface SecretPlace {
  /** The folder of the configuration file; relative paths count from it. */
  readonly folder: string
  /** The value of CREDENTIALS_DIRECTORY. */
  readonly credentials: string | undefined
}

export interface SecretSource extends SecretPlace {
  /** A credential that cannot be read is a problem. This is so for the daemon. */
  readonly needsCredentials: boolean
}

interface FoundSecrets {
  /** The content of the configuration file with the secrets in their places. */
  readonly toml: object
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
  /** Keys whose values come from files, with the keys that name the files. */
  readonly fileKeys: ReadonlyMap<string, string>
  /** Keys whose values are in a credential that cannot be read here. */
  readonly unread: readonly string[]
}

interface SecretKey {
  readonly section: readonly string[]
  readonly key: string
  /** The file is TOML, with the entries of a table. */
  readonly isTable?: true
}

const secretKeys: readonly SecretKey[] = [
  { section: ['outbound'], key: 'routes', isTable: true },
  { section: ['outbound'], key: 'warm_up_route' },
  { section: ['spam'], key: 'rspamd_url' },
  { section: ['sms', 'http'], key: 'password' },
  { section: ['sms', 'http'], key: 'body_template' },
  { section: ['sms', 'smpp'], key: 'password' },
]

/** No file can replace it, because its password has a file of its own. */
const databaseUrl: SecretKey = { section: ['storage'], key: 'url' }

const MAX_BYTES = 65_536
const CREDENTIALS = '$CREDENTIALS_DIRECTORY/'
/** The folder where systemd keeps the credentials of the unit. Commands outside of the unit need it. */
const UNIT_CREDENTIALS = '/run/credentials/posthorn.service'

type Table = Record<string, unknown>

/** The problem of one key ends the work on it. */
class UnusableSecret extends Error {}

export function readSecretFiles(written: object, source: SecretSource): FoundSecrets {
  const toml: object = structuredClone(written)
  const problems: Problem[] = []
  const warnings: Problem[] = []
  const fileKeys = new Map<string, string>()
  const unread: string[] = []
  for (const secret of secretKeys) {
    const section = findSection(toml, secret.section)
    const path = section?.[`${secret.key}_file`]
    if (section === undefined || typeof path !== 'string' || path === '') continue
    const name = [...secret.section, secret.key].join('.')
    const key = `${name}_file`
    try {
      const file = readSecret(path, source)
      if (file === null) {
        unread.push(name)
        continue
      }
      for (const place of putInPlace(section, secret, file.text, name)) fileKeys.set(place, key)
      if (file.isPublic) warnings.push({ key, message: `found ${JSON.stringify(path)}, ${PUBLIC}` })
    } catch (error) {
      if (!(error instanceof UnusableSecret)) throw error
      problems.push({ key, message: error.message })
    }
  }
  return { toml, problems, warnings, fileKeys, unread }
}

const PUBLIC = 'which every user of this machine can read; allowed: mode 0600, or 0640 with the group of the daemon'

/**
 * A warning if the configuration file itself, or the file with the password of the database, has secrets that every user
 * can read. `file` is null if there is none.
 */
export function findPublicSecrets(written: object, file: string | null, source: SecretPlace): readonly Problem[] {
  return [...findSecretsInFile(written, file), ...findPublicDatabasePassword(written, source)]
}

function findSecretsInFile(written: object, file: string | null): readonly Problem[] {
  if (file === null || !isReadableByAll(file)) return []
  const keys = [...secretKeys, databaseUrl].flatMap(({ section, key }) =>
    holdsSecret(findSection(written, section)?.[key], key) ? [[...section, key].join('.')] : [],
  )
  return keys.map((key) => ({ key, message: `found a secret in ${file}, ${PUBLIC}` }))
}

/** The file is read for each connection, and not with the configuration. */
function findPublicDatabasePassword(written: object, source: SecretPlace): readonly Problem[] {
  const path = findSection(written, databaseUrl.section)?.['password_file']
  if (typeof path !== 'string' || path === '' || !isReadableByAll(resolveSecretFile(path, source))) return []
  return [{ key: 'storage.password_file', message: `found ${JSON.stringify(path)}, ${PUBLIC}` }]
}

/** A route or a URL is a secret if it has a login, and that of the database if it has a password; a template may hold anything. */
function holdsSecret(value: unknown, key: string): boolean {
  if (key === databaseUrl.key) return typeof value === 'string' && hasPassword(value)
  if (typeof value === 'string')
    return key === 'password' || key === 'body_template' ? value !== '' : value.includes('@')
  return typeof value === 'object' && value !== null && Object.values(value).some((route) => holdsSecret(route, key))
}

function hasPassword(url: string): boolean {
  const login = url.slice(url.indexOf('://') + '://'.length, Math.max(0, url.lastIndexOf('@')))
  return login.includes(':') || /[?&]password=./i.test(url)
}

function findSection(toml: object, names: readonly string[]): Table | undefined {
  let table: unknown = toml
  for (const name of names) table = isTable(table) ? table[name] : undefined
  return isTable(table) ? table : undefined
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface SecretFile {
  readonly text: string
  readonly isPublic: boolean
}

/** Null if a credential that is not there, and need not be. */
function readSecret(path: string, { folder, credentials, needsCredentials }: SecretSource): SecretFile | null {
  const isCredential = path.startsWith(CREDENTIALS)
  const file = resolveSecretFile(path, { folder, credentials })
  try {
    const found = statSync(file)
    // A pipe could keep the daemon waiting.
    if (!found.isFile()) throw new UnusableSecret(`found ${JSON.stringify(path)}, which is not a regular file`)
    const { size } = found
    if (size > MAX_BYTES) throw new UnusableSecret(`found ${size} bytes in ${file}; allowed: up to ${MAX_BYTES}`)
    return { text: readFileSync(file, 'utf8').replace(/\r?\n$/, ''), isPublic: isReadableByAll(file) }
  } catch (error) {
    if (error instanceof UnusableSecret) throw error
    if (isCredential && !needsCredentials) return null
    throw new UnusableSecret(`found ${JSON.stringify(path)}, which cannot be read: ${errorMessageOf(error)}`)
  }
}

export function resolveSecretFile(path: string, { folder, credentials }: SecretPlace): string {
  return path.startsWith(CREDENTIALS)
    ? resolve(credentials ?? UNIT_CREDENTIALS, path.slice(CREDENTIALS.length))
    : resolve(folder, path)
}

function isReadableByAll(file: string): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & 0o004) !== 0
}

/** Returns the names of the settings that now have a value of the file. */
function putInPlace(section: Table, { key, isTable: isWholeTable }: SecretKey, text: string, name: string): string[] {
  const stated = section[key]
  if (isWholeTable === true) {
    const routes = parseTable(text)
    const table = isTable(stated) ? stated : {}
    const twice = Object.keys(routes).find((entry) => Object.hasOwn(table, entry))
    if (twice !== undefined)
      throw new UnusableSecret(`found ${JSON.stringify(twice)}, which ${name} has; allowed: each domain once`)
    if (stated === undefined || isTable(stated)) section[key] = { ...table, ...routes }
    return Object.keys(routes).map((entry) => `${name}.${/^[\w-]+$/.test(entry) ? entry : JSON.stringify(entry)}`)
  }
  if (stated !== undefined && stated !== '') throw new UnusableSecret(`found with ${name}; allowed: one of the two`)
  section[key] = text
  return [name]
}

/** The parser's message would show a part of the file. */
function parseTable(text: string): Table {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    throw new UnusableSecret(
      `line ${error.line}, column ${error.column} of the file is no TOML; allowed: lines of "domain" = "host:port"`,
    )
  }
}
