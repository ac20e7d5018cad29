/**
 * Finds and reads the configuration file, and returns a configuration or all its problems.
 *
 * The file is that of `--config`, else of POSTHORN_CONFIG, else /etc/posthorn/posthorn.toml if it exists. Without a
 * file the built-in defaults apply, which listen on loopback only. A named or existing file that cannot be read is a
 * problem, never a reason to use the defaults. Rooms below do not read the environment.
 */
import { readFileSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { type Config, completeConfig, dataDirOf, type Machine } from './complete.js'
import { type FileSettings, findContradictions } from './contradictions.js'
import { HIDDEN_VALUE, type Problem, problemsOf, withoutFaults } from './problems.js'
import { settings } from './schema.js'
import { findPublicSecrets, readSecretFiles, type SecretSource } from './secret-files.js'
import { findShortNames } from './short-names.js'

export type LoadedConfig =
  /** `file` is null if the built-in defaults are used. */
  | {
      readonly kind: 'config'
      readonly file: string | null
      readonly config: Config
      readonly dataDir: string
      /** Settings that work, and endanger a secret. */
      readonly warnings: readonly Problem[]
      /** Names of one label. The daemon works with them; what prepares a server for others does not. */
      readonly shortNames: readonly Problem[]
      readonly written: WrittenConfig
    }
  /** `dataDir` is what the sound part of the file says, or the default. It is null if the file cannot be read. */
  | {
      readonly kind: 'problems'
      readonly file: string | null
      readonly problems: readonly Problem[]
      readonly dataDir: string | null
      /** This user has no right to read the file. */
      readonly isForbidden?: boolean
    }

/** What the configuration was made from. */
export interface WrittenConfig {
  readonly file: string | null
  readonly text: string
  /** The content of the file, with secrets from other files in their places. */
  readonly toml: object
  /** Keys whose values come from other files, with the keys that name the files. */
  readonly fileKeys: ReadonlyMap<string, string>
  /** Keys whose values are in a credential that cannot be read here. */
  readonly unread: readonly string[]
  readonly machine: Machine
}

type Env = Readonly<Record<string, string | undefined>>

interface ConfigSource {
  /** The value of `--config`. */
  readonly file: string | null
  readonly env: Env
  /** A credential of systemd that cannot be read is a problem. If it is absent, the secret counts as not set. */
  readonly needsCredentials?: boolean
  /** The path where packages install the configuration. */
  readonly systemFile?: string
}

export function loadConfig({
  file,
  env,
  needsCredentials = false,
  systemFile = '/etc/posthorn/posthorn.toml',
}: ConfigSource): LoadedConfig {
  const secrets = { credentials: env['CREDENTIALS_DIRECTORY'], needsCredentials }
  const named = file ?? (env['POSTHORN_CONFIG'] || null)
  const path = resolve(named ?? systemFile)
  const found = readText(path)
  if (typeof found === 'string') return parseConfig(found, path, describeMachine(env), secrets)
  if (named === null && found.code === 'ENOENT') return parseConfig('', null, describeMachine(env))
  return {
    kind: 'problems',
    file: path,
    problems: [{ key: '', message: `cannot be read: ${found.message}` }],
    dataDir: null,
    isForbidden: found.code === 'EACCES',
  }
}

/** `file` is named in messages, and relative paths count from its folder. */
export function parseConfig(
  text: string,
  file: string | null,
  machine: Machine,
  secrets: Omit<SecretSource, 'folder'> = { credentials: undefined, needsCredentials: false },
): LoadedConfig {
  const written = parseToml(text)
  if ('problems' in written) return { kind: 'problems', file, problems: written.problems, dataDir: null }
  const folder = file === null ? '.' : dirname(file)
  const { toml, fileKeys, unread, ...found } = readSecretFiles(written.toml, { ...secrets, folder })
  const issues = settings.safeParse(toml).error?.issues ?? []
  const sound: FileSettings = withoutFaults(toml, issues)
  const checked = settings.parse(sound)
  const faults = problemsOf(issues, toml)
  const faulty = new Set(faults.map(({ key }) => key))
  // A faulty value counts as absent above, which must not become a second problem of its key.
  const ofValues = [...faults, ...findContradictions(checked, sound).filter(({ key }) => !faulty.has(key))]
  const problems = [...found.problems, ...ofValues.map((fault) => nameFile(fault, fileKeys))]
  if (problems.length > 0) {
    const dataDir = faulty.has('service.data_dir') ? null : dataDirOf(checked, machine, folder)
    return { kind: 'problems', file, problems, dataDir }
  }
  const warnings = [...found.warnings, ...findPublicSecrets(written.toml, file, { ...secrets, folder })]
  const config = completeConfig(checked, machine, folder)
  const { data_dir: dataDir, hostname } = config.service
  const shortNames = findShortNames(checked, hostname, machine.hostname)
  const origin = { file, text, toml, fileKeys, unread, machine }
  return { kind: 'config', file, config, dataDir, warnings, shortNames, written: origin }
}

/**
 * The problem of a value from a file belongs to the key that names the file. A text of the file is not shown: a line
 * may have its two sides exchanged, with the password on the left.
 */
function nameFile(problem: Problem, fileKeys: ReadonlyMap<string, string>): Problem {
  const key = fileKeys.get(problem.key)
  if (key === undefined) return problem
  const rule = problem.message.lastIndexOf('; allowed: ')
  const isText = problem.message.startsWith('found "') && rule !== -1
  return { key, message: isText ? `${HIDDEN_VALUE}${problem.message.slice(rule)}` : problem.message }
}

type ParseFailure = { readonly problems: readonly Problem[] }

function readText(path: string): string | NodeJS.ErrnoException {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}

/** The parser's message includes an excerpt of the file, which may hold a password and is cut off. */
function parseToml(text: string): ParseFailure | { readonly toml: object } {
  try {
    return { toml: parse(text) }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [what = ''] = error.message.split('\n')
    const advice = isBareText(text, what, error) ? '; text needs quotes' : ''
    const message = `line ${error.line}, column ${error.column}: ${what}${advice}`
    return { problems: [{ key: '', message }] }
  }
}

/** The parser stopped in or after a value that has no quotes, as in `hostname = mail.example.net`. */
function isBareText(text: string, what: string, { line }: TomlError): boolean {
  if (!/invalid value|followed by an end-of-line|numeric literal/.test(what)) return false
  return /^[^"'#=]{1,200}=\s{0,20}(?!(?:true|false)\b)[a-z\d/~]/i.test(text.split(/\r?\n/)[line - 1] ?? '')
}

function describeMachine(env: Env): Machine {
  return {
    hostname: hostname(),
    home: env['HOME'] || homedir(),
    isRoot: process.getuid?.() === 0,
    stateHome: env['XDG_STATE_HOME'],
    credentials: env['CREDENTIALS_DIRECTORY'],
  }
}
