/**
 * Lists the settings of a configuration: each with its value as the file would state it, and with the place where it was set.
 *
 * A value that is a secret is not among them, and of a URL or a route the login is not.
 */
import { isAbsolute } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import type { Config } from './complete.js'
import { tables } from './live-config.js'
import type { WrittenConfig } from './load.js'
import { builtInPlans } from './plans.js'
import { keyOf, valueAt } from './problems.js'
import { settings } from './schema.js'
import { isSecretKind, secret } from './values.js'

export interface EffectiveValue {
  /** The name, such as `outbound.port` or `outbound.routes."b.test"`. */
  readonly key: string
  /** Null if it is not set and has no default. */
  readonly value: unknown
  /** True if the value stands in place of one that is not shown. */
  readonly hidden: boolean
  /** `FILE:LINE`, the path of another file, `credential NAME`, `environment NAME`, or `default`. */
  readonly source: string
}

/** Stands in place of a value that only the daemon can read. */
export const NOT_READ = '(not read)'

type Path = readonly string[]

interface Setting {
  readonly path: Path
  readonly kind: z.core.$ZodType
}

/** All settings, in the order of the sections. */
export function* eachSetting(schema: z.core.$ZodType = settings, path: Path = []): Generator<Setting> {
  const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema
  if (!(inner instanceof z.ZodObject)) {
    yield { path, kind: schema }
    return
  }
  for (const [key, kind] of Object.entries(inner.shape)) yield* eachSetting(kind, [...path, key])
}

export function listEffectiveValues(config: Config, written: WrittenConfig): readonly EffectiveValue[] {
  const lines = findLines(written.text)
  const describe = (path: Path, value: unknown, shown: unknown): EffectiveValue => ({
    key: keyOf(path),
    value: shown ?? null,
    hidden: typeof shown === 'string' && shown !== value,
    source: findSource(path, written, lines),
  })
  return [...eachSetting()].flatMap(({ path, kind }) => {
    const name = keyOf(path)
    const value = findValue(path, kind, config, written)
    const shown = withoutSecrets(kind, value)
    const own = tables.has(name)
      ? entriesOf(value).map(([key, entry]) => describe([...path, key], entry, valueAt([key], shown)))
      : [describe(path, value, shown)]
    if (!written.unread.includes(name)) return own.length > 0 ? own : [describe(path, value, shown)]
    const unread = { key: name, value: NOT_READ, hidden: true, source: describeFile(`${name}_file`, written) }
    return [...own.filter(({ source }) => source !== DEFAULT), unread]
  })
}

/** Returns the value as the file states it. Values of [service] are complete: their defaults depend on the machine and on each other. */
function findValue(path: Path, kind: z.core.$ZodType, config: Config, { toml }: WrittenConfig): unknown {
  if (path[0] === 'service') return valueAt(path, config)
  const stated = valueAt(path, toml)
  if (keyOf(path) === 'limits.plans') return { ...builtInPlans, ...Object.fromEntries(entriesOf(stated)) }
  return stated ?? (kind instanceof z.ZodPrefault ? kind.def.defaultValue : undefined)
}

function entriesOf(table: unknown): readonly (readonly [string, unknown])[] {
  return typeof table === 'object' && table !== null ? Object.entries(table) : []
}

/** The value with a note in place of each secret in it. */
function withoutSecrets(kind: z.core.$ZodType, value: unknown): unknown {
  if (isSecretKind(kind)) return typeof value === 'string' ? hideSecret(kind, value) : value
  if (kind instanceof z.ZodPrefault || kind instanceof z.ZodOptional) return withoutSecrets(kind.unwrap(), value)
  if (kind instanceof z.ZodPipe) return withoutSecrets(kind.in, value)
  if (kind instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item: unknown) => withoutSecrets(kind.element, item))
  }
  if (kind instanceof z.ZodRecord) return mapEntries(value, () => kind.valueType)
  if (kind instanceof z.ZodObject) return mapEntries(value, (key) => kind.shape[key])
  return value
}

function mapEntries(table: unknown, kindOf: (key: string) => z.core.$ZodType | undefined): unknown {
  const shown = entriesOf(table).map(([key, value]) => {
    const kind = kindOf(key)
    return [key, kind === undefined ? value : withoutSecrets(kind, value)]
  })
  return Object.fromEntries(shown)
}

/** Everything up to the last `@` may be the login of a URL. */
function hideSecret(kind: z.core.$ZodType, text: string): string {
  if (kind === secret) return text === '' ? '(not set)' : '(set)'
  const at = text.lastIndexOf('@')
  if (at === -1) return text
  const scheme = text.indexOf('//')
  return `${scheme === -1 || scheme > at ? '' : text.slice(0, scheme + 2)}(hidden)${text.slice(at)}`
}

const DEFAULT = 'default'

function findSource(path: Path, written: WrittenConfig, lines: ReadonlyMap<string, number>): string {
  const key = keyOf(path)
  const fileKey = written.fileKeys.get(key)
  if (fileKey !== undefined) return describeFile(fileKey, written)
  if (valueAt(path, written.toml) !== undefined) {
    const line = lines.get(key)
    return line === undefined ? `${written.file}` : `${written.file}:${line}`
  }
  const { isRoot, stateHome = '' } = written.machine
  return key === 'service.data_dir' && !isRoot && isAbsolute(stateHome) ? 'environment XDG_STATE_HOME' : DEFAULT
}

/** `key` names a file with a secret. */
function describeFile(key: string, { toml }: WrittenConfig): string {
  return String(valueAt(key.split('.'), toml)).replace(/^\$CREDENTIALS_DIRECTORY\//, 'credential ')
}

/** The line, from 1, where each key is first set. A section has the line of its header. */
function findLines(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  let section: Path = []
  for (const { line, content, isHeader } of eachStatement(text)) {
    const paths = [...eachPath(content)]
    if (isHeader) section = paths.at(-1) ?? []
    for (const path of paths) {
      const key = keyOf(isHeader ? path : [...section, ...path])
      if (!found.has(key)) found.set(key, line)
    }
  }
  return found
}

interface Statement {
  readonly line: number
  readonly content: unknown
  readonly isHeader: boolean
}

/** A statement ends with the first line that makes it valid by itself: an open list or text is not. */
function* eachStatement(text: string): Generator<Statement> {
  let start = 0
  const lines = text.split(/\r?\n/)
  for (let end = 1; end <= lines.length; end += 1) {
    const statement = lines.slice(start, end).join('\n')
    const content = parseOrNull(statement)
    if (content === null) continue
    yield { line: start + 1, content, isHeader: statement.trimStart().startsWith('[') }
    start = end
  }
}

function parseOrNull(text: string): object | null {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof TomlError) return null
    throw error
  }
}

/** The paths of all tables and values. A list is a value; the header of one is a list with an empty table. */
function* eachPath(content: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path
  if (Array.isArray(content)) return
  for (const [key, value] of entriesOf(content)) yield* eachPath(value, [...path, key])
}
