/**
 * From what a schema found wrong to the refusal that a client reads.
 *
 * All problems of a request are told at once, each with its field, the rule and the
 * value. The code is `missing_required_field` where something is missing, else
 * `invalid_email_address` where an address is malformed, else `validation_error`.
 */
import type { z } from 'zod'
import { formatForDisplay } from '../../../mail/address.js'
import { Refusal, type RefusalKind } from '../../../mail/refusal.js'
import { ownValueOf } from '../../../platform/records.js'
import { removeAbsentFields } from './absent-fields.js'
import { describeType, issueErrorMap, NO_MATCHING_FORM, UNKNOWN_FIELD } from './issue-messages.js'

/** `params` of an issue that speaks of an address: `context.addIssue({ code: 'custom', params: ofAddress, … })`. */
export const addressIssue = { of: 'address' }
/** `params` of an issue that speaks of a field which is missed because of others. */
export const missingIssue = { of: 'missing' }
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
export function parseInput<T>(schema: z.ZodType<T>, given: unknown): T {
  const present = removeAbsentFields(schema, given)
  const result = schema.safeParse(present, { error: issueErrorMap })
  if (result.success) return result.data
  throw toInputRefusal(result.error.issues, present)
}

export function toInputRefusal(issues: readonly Issue[], given: unknown): Refusal {
  const problems = takeFirst(MAX_ISSUES, problemsOf(issues, [], given))
  const kind = kindPriority.find((wanted) => problems.some((problem) => problem.kind === wanted)) ?? 'invalid-parameter'
  const errors = problems.slice(0, MAX_ERRORS).map(({ error }) => error)
  const foremost = problems.find((problem) => problem.kind === kind)?.error
  const message = foremost === undefined ? 'the request is not valid' : formatFieldError(foremost)
  return new Refusal(kind, message, { errors })
}

const kindPriority: readonly RefusalKind[] = ['missing-field', 'invalid-address', 'invalid-parameter']

interface Problem {
  readonly kind: RefusalKind
  readonly error: FieldError
}

function formatFieldError({ field, message }: FieldError): string {
  return field === '' ? message : `${field}: ${message}`
}

/** The items that a generator makes first; what comes after them is never made. */
function takeFirst<T>(most: number, made: Iterable<T>): readonly T[] {
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
    else if (mistyped !== null && isSizeOfMistyped(issue, mistyped)) continue
    const path = [...above, ...issue.path]
    const inside = issue.code === 'invalid_union' ? findLikeliestForm(issue.errors) : []
    if (inside.length > 0) yield* problemsOf(inside, path, given)
    else if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) yield buildProblem('invalid-parameter', [...path, key], UNKNOWN_FIELD, given)
    } else yield problemOf(issue, path, given)
  }
}

/** Zod measures a text where a list is wanted, after it has said so: that size means nothing. */
function isSizeOfMistyped({ code, path }: Issue, mistyped: Issue): boolean {
  return (code === 'too_big' || code === 'too_small') && path.join('.') === mistyped.path.join('.')
}

function problemOf(issue: Issue, path: Path, given: unknown): Problem {
  const found = valueAt(path, given)
  const isUnworded = issue.code === 'invalid_union' && issue.message === NO_MATCHING_FORM
  const forms = isUnworded && found !== undefined ? formatAllowedTypes(issue.errors) : ''
  if (forms !== '') return buildProblem('invalid-parameter', path, `must be ${forms}`, given)
  if (issue.code === 'custom') {
    const kind = issueKinds.get(issue.params?.['of']) ?? 'invalid-parameter'
    return buildProblem(kind, path, issue.message, given)
  }
  if (found !== undefined) return buildProblem('invalid-parameter', path, issue.message, given)
  return buildProblem('missing-field', path, path.length === 0 ? 'a body is required' : 'is required', given)
}

const issueKinds: ReadonlyMap<unknown, RefusalKind> = new Map([
  ['address', 'invalid-address'],
  ['missing', 'missing-field'],
])

/** `text, a list or an object`. */
function formatAllowedTypes(branches: readonly (readonly Issue[])[]): string {
  const types = branches
    .flat()
    .flatMap((issue) => (issue.code === 'invalid_type' ? [describeType(issue.expected)] : []))
  return [...new Set<string>(types)].join(', ').replace(/, ([^,]+)$/, ' or $1')
}

/** Of the forms that a value may have, the one of its type with the fewest faults. */
function findLikeliestForm(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const countFaults = (issues: readonly Issue[]): number =>
    issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0)
  const ofItsType = branches.filter((issues) => !issues.some(isOfOtherType))
  return ofItsType.toSorted((a, b) => countFaults(a) - countFaults(b))[0] ?? []
}

/** Forms may have forms themselves: then it is of none of their types. */
function isOfOtherType(issue: Issue): boolean {
  if (issue.path.length > 0) return false
  if (issue.code === 'invalid_union') return issue.errors.every((issues) => issues.some(isOfOtherType))
  return issue.code === 'invalid_type'
}

function buildProblem(kind: RefusalKind, path: Path, message: string, given: unknown): Problem {
  const value = secretFields.has(path.at(-1)) ? null : toShortValue(valueAt(path, given))
  return { kind, error: { field: formatFieldPath(path), message, value } }
}

/** Fields of which the value is never repeated, wherever they stand. */
const secretFields: ReadonlySet<PropertyKey | undefined> = new Set(['password', 'token', 'signature'])

function formatFieldPath(path: Path): string {
  return formatForDisplay(
    path.reduce<string>(
      (field, part) =>
        typeof part === 'number' ? `${field}[${part}]` : field === '' ? String(part) : `${field}.${String(part)}`,
      '',
    ),
  )
}

function valueAt(path: Path, given: unknown): unknown {
  return path.reduce<unknown>(ownValueOf, given)
}

function toShortValue(value: unknown): FieldError['value'] {
  if (typeof value === 'string') return formatForDisplay(value)
  return typeof value === 'number' || typeof value === 'boolean' ? value : null
}
