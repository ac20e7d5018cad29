/**
 * From what a schema found wrong to the refusal that a client reads.
 *
 * All problems of a request are told at once, each with its field, the rule and the
 * value. The code is `missing_required_field` where something is missing, else
 * `invalid_email_address` where an address is malformed, else `validation_error`.
 */
import type { z } from 'zod'
import { shown } from '../../../mail/address.js'
import { Refusal, type RefusalKind } from '../../../mail/refusal.js'
import { withoutAbsent } from './absent-fields.js'
import { inOurWords, kindNamed, NO_FORM, UNKNOWN_FIELD } from './issue-words.js'

/** `params` of an issue that speaks of an address: `context.addIssue({ code: 'custom', params: ofAddress, … })`. */
export const ofAddress = { of: 'address' }
/** `params` of an issue that speaks of a field which is missed because of others. */
export const ofMissing = { of: 'missing' }
/** Of one request: a list may be wrong in very many places. So many are looked at, and so many told. */
const MAX_ISSUES = 1_000
const MAX_ERRORS = 100

export interface FieldError {
  /** As `to[2]` or `attachments[0].content`; empty: the body as a whole. */
  readonly field: string
  readonly message: string
  /** Shortened; null where it is an object, missing, or a secret. */
  readonly value: string | number | boolean | null
}

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** The parsed value; throws a Refusal that names every field at fault. */
export function parse<T>(schema: z.ZodType<T>, given: unknown): T {
  const present = withoutAbsent(schema, given)
  const result = schema.safeParse(present, { error: inOurWords })
  if (result.success) return result.data
  throw inputRefusal(result.error.issues, present)
}

export function inputRefusal(issues: readonly Issue[], given: unknown): Refusal {
  const problems = first(MAX_ISSUES, problemsOf(issues, [], given))
  const kind = order.find((wanted) => problems.some((problem) => problem.kind === wanted)) ?? 'invalid-parameter'
  const errors = problems.slice(0, MAX_ERRORS).map(({ error }) => error)
  const foremost = problems.find((problem) => problem.kind === kind)?.error
  const message = foremost === undefined ? 'the request is not valid' : sentence(foremost)
  return new Refusal(kind, message, { errors })
}

const order: readonly RefusalKind[] = ['missing-field', 'invalid-address', 'invalid-parameter']

interface Problem {
  readonly kind: RefusalKind
  readonly error: FieldError
}

function sentence({ field, message }: FieldError): string {
  return field === '' ? message : `${field}: ${message}`
}

/** The items that a generator makes first; what comes after them is never made. */
function first<T>(most: number, made: Iterable<T>): readonly T[] {
  const items: T[] = []
  for (const item of made) {
    items.push(item)
    if (items.length === most) break
  }
  return items
}

function* problemsOf(issues: readonly Issue[], above: Path, given: unknown): Generator<Problem> {
  let mistyped: Issue | null = null
  for (const issue of issues) {
    if (issue.code === 'invalid_type') mistyped = issue
    else if (mistyped !== null && isSizeOf(issue, mistyped)) continue
    const path = [...above, ...issue.path]
    const inside = issue.code === 'invalid_union' ? likeliest(issue.errors) : []
    if (inside.length > 0) yield* problemsOf(inside, path, given)
    else if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) yield problem('invalid-parameter', [...path, key], UNKNOWN_FIELD, given)
    } else yield problemOf(issue, path, given)
  }
}

/** Zod measures a text where a list is wanted, after it has said so: that size means nothing. */
function isSizeOf({ code, path }: Issue, mistyped: Issue): boolean {
  return (code === 'too_big' || code === 'too_small') && path.join('.') === mistyped.path.join('.')
}

function problemOf(issue: Issue, path: Path, given: unknown): Problem {
  const found = valueAt(path, given)
  const isUnworded = issue.code === 'invalid_union' && issue.message === NO_FORM
  const forms = isUnworded && found !== undefined ? formsOf(issue.errors) : ''
  if (forms !== '') return problem('invalid-parameter', path, `must be ${forms}`, given)
  if (issue.code === 'custom') {
    const kind = kinds.get(issue.params?.['of']) ?? 'invalid-parameter'
    return problem(kind, path, issue.message, given)
  }
  if (found !== undefined) return problem('invalid-parameter', path, issue.message, given)
  return problem('missing-field', path, path.length === 0 ? 'a body is required' : 'is required', given)
}

const kinds: ReadonlyMap<unknown, RefusalKind> = new Map([
  ['address', 'invalid-address'],
  ['missing', 'missing-field'],
])

/** `text, a list or an object`. */
function formsOf(branches: readonly (readonly Issue[])[]): string {
  const types = branches.flat().flatMap((issue) => (issue.code === 'invalid_type' ? [kindNamed(issue.expected)] : []))
  return [...new Set<string>(types)].join(', ').replace(/, ([^,]+)$/, ' or $1')
}

/** Of the forms that a value may have, the one of its type with the fewest faults. */
function likeliest(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const faults = (issues: readonly Issue[]): number =>
    issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0)
  const ofItsType = branches.filter((issues) => !issues.some(isOfAnotherType))
  return ofItsType.toSorted((a, b) => faults(a) - faults(b))[0] ?? []
}

/** Forms may have forms themselves: then it is of none of their types. */
function isOfAnotherType(issue: Issue): boolean {
  if (issue.path.length > 0) return false
  if (issue.code === 'invalid_union') return issue.errors.every((issues) => issues.some(isOfAnotherType))
  return issue.code === 'invalid_type'
}

function problem(kind: RefusalKind, path: Path, message: string, given: unknown): Problem {
  const value = secrets.has(path.at(-1)) ? null : shownValue(valueAt(path, given))
  return { kind, error: { field: fieldOf(path), message, value } }
}

/** Fields of which the value is never repeated, wherever they stand. */
const secrets: ReadonlySet<PropertyKey | undefined> = new Set(['password', 'token', 'signature'])

function fieldOf(path: Path): string {
  return shown(
    path.reduce<string>(
      (field, part) =>
        typeof part === 'number' ? `${field}[${part}]` : field === '' ? String(part) : `${field}.${String(part)}`,
      '',
    ),
  )
}

function valueAt(path: Path, given: unknown): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? (value as Record<PropertyKey, unknown>)[part]
        : undefined,
    given,
  )
}

function shownValue(value: unknown): FieldError['value'] {
  if (typeof value === 'string') return shown(value)
  return typeof value === 'number' || typeof value === 'boolean' ? value : null
}
