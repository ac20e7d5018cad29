/**
 * Parses the input of a request with its schema; from the issues of the schema to a Refusal.
 *
 * All problems of a request are reported at once, each with its field, the rule and the value. The
 * code is `missing_required_field` if a field is missing, else `invalid_email_address` if an address
 * is malformed, else `validation_error`.
 *
 * Texts with NUL or half of a surrogate pair are refused in every field, whether or not its schema does so.
 */
import type { z } from 'zod'
import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal, type RefusalKind } from '../../../../base/mail/refusal.js'
import { ownValueOf } from '../../../../base/platform/records.js'
import { removeAbsentFields } from './absent-fields.js'
import { describeType, issueErrorMap, NO_MATCHING_FORM } from './issue-messages.js'
import { findUnstorableTexts } from './unstorable-texts.js'

/** `params` of an issue about an address, as in `context.addIssue({ code: 'custom', params: addressIssue, … })`. */
export const addressIssue = { of: 'address' }
/** `params` of an issue about a field that other fields make required. */
export const missingIssue = { of: 'missing' }
/** Issues of one request that are examined. A long list may have very many. */
const MAX_ISSUES = 1_000
/** Errors that an answer lists. */
const MAX_ERRORS = 100

export interface FieldError {
  /** The field, such as `to[2]` or `attachments[0].content`. Empty if it is the body as a whole. */
  readonly field: string
  readonly message: string
  /** The shortened value. Null if it is an object, missing, or a secret. */
  readonly value: string | number | boolean | null
}

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** Throws a Refusal that names every field at fault. */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const present = removeAbsentFields(schema, input)
  const result = schema.safeParse(present, { error: issueErrorMap })
  if (!result.success) throw toInputRefusal(result.error.issues, present)
  // The schema comes first, because it bounds the lists that are read here.
  const unstorable = takeFirst(MAX_ERRORS, unstorableProblemsOf(input))
  if (unstorable.length > 0) throw buildRefusal(unstorable)
  return result.data
}

export function toInputRefusal(issues: readonly Issue[], input: unknown): Refusal {
  return buildRefusal(takeFirst(MAX_ISSUES, problemsOf(issues, [], input)))
}

function buildRefusal(problems: readonly Problem[]): Refusal {
  const kind = kindPriority.find((kind) => problems.some((problem) => problem.kind === kind)) ?? 'invalid-parameter'
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

/** The first items of an iterable; the others are never produced. */
function takeFirst<T>(max: number, source: Iterable<T>): readonly T[] {
  const items: T[] = []
  for (const item of source) {
    items.push(item)
    if (items.length === max) break
  }
  return items
}

function* unstorableProblemsOf(input: unknown): Generator<Problem> {
  for (const { path, fault } of findUnstorableTexts(input)) yield buildProblem('invalid-parameter', path, fault, input)
}

function* problemsOf(issues: readonly Issue[], above: Path, input: unknown): Generator<Problem> {
  let mistyped: Issue | null = null
  for (const issue of issues) {
    if (issue.code === 'invalid_type') mistyped = issue
    else if (mistyped !== null && isSizeOfMistyped(issue, mistyped)) continue
    const path = [...above, ...issue.path]
    const inside = issue.code === 'invalid_union' ? findLikeliestForm(issue.errors) : []
    if (inside.length > 0) yield* problemsOf(inside, path, input)
    else if (issue.code === 'unrecognized_keys') {
      const messages = issue.message.split('\n')
      for (const [at, key] of issue.keys.entries()) {
        yield buildProblem('invalid-parameter', [...path, key], messages[at] ?? issue.message, input)
      }
    } else yield problemOf(issue, path, input)
  }
}

/** After an issue about its type, Zod also reports the size of a text where a list is expected. */
function isSizeOfMistyped({ code, path }: Issue, mistyped: Issue): boolean {
  return (code === 'too_big' || code === 'too_small') && path.join('.') === mistyped.path.join('.')
}

function problemOf(issue: Issue, path: Path, input: unknown): Problem {
  const found = valueAt(path, input)
  const isUnworded = issue.code === 'invalid_union' && issue.message === NO_MATCHING_FORM
  const forms = isUnworded && found !== undefined ? formatAllowedTypes(issue.errors) : ''
  if (forms !== '') return buildProblem('invalid-parameter', path, `must be ${forms}`, input)
  if (issue.code === 'custom') {
    const kind = issueKinds.get(issue.params?.['of']) ?? 'invalid-parameter'
    return buildProblem(kind, path, issue.message, input)
  }
  if (found !== undefined) return buildProblem('invalid-parameter', path, issue.message, input)
  return buildProblem('missing-field', path, path.length === 0 ? 'a body is required' : 'is required', input)
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

/** The issues of the union's form that has the type of the value and the fewest faults. */
function findLikeliestForm(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const countFaults = (issues: readonly Issue[]): number =>
    issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0)
  const ofItsType = branches.filter((issues) => !issues.some(isOfOtherType))
  return ofItsType.toSorted((a, b) => countFaults(a) - countFaults(b))[0] ?? []
}

/** A form may be a union too: then the value has the type of none of its forms. */
function isOfOtherType(issue: Issue): boolean {
  if (issue.path.length > 0) return false
  if (issue.code === 'invalid_union') return issue.errors.every((issues) => issues.some(isOfOtherType))
  return issue.code === 'invalid_type'
}

function buildProblem(kind: RefusalKind, path: Path, message: string, input: unknown): Problem {
  const value = secretFields.has(path.at(-1)) ? null : toShortValue(valueAt(path, input))
  return { kind, error: { field: formatFieldPath(path), message, value } }
}

/** Fields with values that an answer never repeats. */
const secretFields: ReadonlySet<PropertyKey | undefined> = new Set(['password', 'token', 'signature', 'code'])

function formatFieldPath(path: Path): string {
  return formatForDisplay(
    path.reduce<string>(
      (field, part) =>
        typeof part === 'number' ? `${field}[${part}]` : field === '' ? String(part) : `${field}.${String(part)}`,
      '',
    ),
  )
}

function valueAt(path: Path, input: unknown): unknown {
  return path.reduce<unknown>(ownValueOf, input)
}

function toShortValue(value: unknown): FieldError['value'] {
  if (typeof value === 'string') return formatForDisplay(value)
  return typeof value === 'number' || typeof value === 'boolean' ? value : null
}
