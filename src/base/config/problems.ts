/**
 * The problems of a configuration, for the operator: the key, what was found, and what is allowed.
 *
 * A value that may hold a password is never repeated.
 */
import type { z } from 'zod'

/** Stands in place of a secret. */
export const HIDDEN_VALUE = 'found a value that is not shown here'

export interface Problem {
  /** The key, such as `outbound.retry_schedule[2]`. Empty if the problem is about the entire file. */
  readonly key: string
  readonly message: string
}

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** Makes one problem for each invalid key. `written` is the content of the file. */
export function problemsOf(issues: readonly Issue[], written: unknown): readonly Problem[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return unknownKeyProblemsOf(issue)
    const allowed = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message
    return [{ key: keyOf(issue.path), message: `${describeFound(issue, written)}; allowed: ${allowed}` }]
  })
}

/** The lines that `check` and a failed start print. */
export function formatProblems(file: string | null, problems: readonly Problem[]): string {
  const source = file ?? 'built-in defaults'
  return problems.map(({ key, message }) => [source, key, message].filter((part) => part !== '').join(': ')).join('\n')
}

function unknownKeyProblemsOf(issue: z.core.$ZodIssueUnrecognizedKeys): readonly Problem[] {
  const message = `found a key that is not known here; allowed: ${issue.message}`
  return issue.keys.map((key) => ({ key: keyOf([...issue.path, key]), message }))
}

/** The name of a setting: `outbound.retry_schedule[2]`, `outbound.routes."b.test"`. */
export function keyOf(path: Path): string {
  return path.reduce<string>((key, part) => {
    if (typeof part === 'number') return `${key}[${part}]`
    const word = /^[\w-]+$/.test(String(part)) ? String(part) : JSON.stringify(part)
    return key === '' ? word : `${key}.${word}`
  }, '')
}

function describeFound(issue: Issue, written: unknown): string {
  if (issue.code === 'custom' && issue.params?.['secret'] === true) return HIDDEN_VALUE
  const value = issue.code === 'invalid_key' ? issue.path.at(-1) : valueAt(issue.path, written)
  return value === undefined ? 'missing' : `found ${formatValue(value)}`
}

/** Undefined if the file has no such value. */
export function valueAt(path: Path, written: unknown): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown> | undefined)?.[part], written)
}

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (value instanceof Date) return 'a date'
  if (typeof value === 'object' && value !== null) return 'a section'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/**
 * The content of the file without its invalid values (of a list, without all of it), so that the rest can still be
 * checked for contradictions, and all problems are reported at once.
 */
export function withoutFaults(written: object, issues: readonly Issue[]): object {
  const rest: object = structuredClone(written)
  for (const issue of issues) {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
    for (const key of keys) removeAt(rest, toPathOutsideLists(key))
  }
  return rest
}

function toPathOutsideLists(path: Path): Path {
  const inList = path.findIndex((part) => typeof part === 'number')
  return inList === -1 ? path : path.slice(0, inList)
}

function removeAt(from: object, path: Path): void {
  const section = valueAt(path.slice(0, -1), from)
  const key = path.at(-1)
  if (typeof section === 'object' && section !== null && key !== undefined) Reflect.deleteProperty(section, key)
}
