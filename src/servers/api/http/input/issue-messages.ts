/**
 * The messages of schema issues: the rule, and the type that was found. They are used for every issue of a schema that
 * has no message. The value is reported apart from the message (`parse-input.ts`), never in it.
 */
import { z } from 'zod'
import { assertNever } from '../../../../base/mail/assert-never.js'
import { suggestWord } from '../../../../base/platform/closest-word.js'

type RawIssue = Parameters<z.core.$ZodErrorMap>[0]
type IssueOf<Code> = Extract<RawIssue, { readonly code: Code }>

/** Unknown names of one issue for which a field is suggested. Each is compared with all fields of the schema. */
const MAX_SUGGESTIONS = 3
/** The message for a union that has none; `parse-input.ts` names its types if it can. */
export const NO_MATCHING_FORM = 'has none of the allowed forms'

export const issueErrorMap: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${describeType(issue.expected)}, found ${describeTypeOf(issue.input)}`
    case 'invalid_value':
      return `allowed: ${issue.values.map(String).join(', ')}`
    case 'too_big':
      return describeTooBig(issue)
    case 'too_small':
      return describeTooSmall(issue)
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_format':
      return formatMessages[issue.format] ?? `must have the format ${issue.format}`
    case 'unrecognized_keys':
      return describeUnknownFields(issue)
    case 'invalid_key':
      return 'has a name that is not allowed'
    case 'invalid_element':
      return 'has an item that is not allowed'
    case 'invalid_union':
      return NO_MATCHING_FORM
    case 'custom':
      return 'has a value that is not allowed'
    default:
      return assertNever(issue)
  }
}

/** A line for each name, in their order. The schema does not have a field or parameter of this name. */
function describeUnknownFields({ keys, inst }: IssueOf<'unrecognized_keys'>): string {
  const known = inst instanceof z.ZodObject ? Object.keys(inst.shape) : []
  const lines = keys.map((key, at) => (at < MAX_SUGGESTIONS ? suggestWord(key, known) : ''))
  return lines.map((suggestion) => `is not a known field${suggestion}`).join('\n')
}

/** A type of Zod in words. */
export function describeType(type: string): string {
  return typeWords[type] ?? type
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/** The type of a JSON value in words. */
function describeTypeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'boolean' ? String(value) : describeType(typeof value)
}

const formatMessages: Readonly<Record<string, string>> = {
  regex: 'has characters or a form that are not allowed',
  email: 'must be a mail address, such as bob@example.com',
  url: 'must be a URL',
  uuid: 'must be a UUID',
  datetime: 'must be ISO 8601 with an offset or Z, such as 2030-01-31T09:00:00Z',
}

function describeTooBig({ origin, maximum, inclusive = true, input }: IssueOf<'too_big'>): string {
  if (isNumber(origin)) return `must be ${inclusive ? 'at most' : 'less than'} ${maximum}`
  return `must have at most ${formatCount(maximum, origin)}${formatFoundSize(input)}`
}

function describeTooSmall({ origin, minimum, inclusive = true, input }: IssueOf<'too_small'>): string {
  if (isNumber(origin)) return `must be ${inclusive ? 'at least' : 'more than'} ${minimum}`
  if (minimum === 1) return 'must not be empty'
  return `must have at least ${formatCount(minimum, origin)}${formatFoundSize(input)}`
}

function isNumber(origin: string): boolean {
  return origin === 'number' || origin === 'int' || origin === 'bigint'
}

function formatCount(count: number | bigint, origin: string): string {
  const unit = origin === 'string' ? 'character' : origin === 'object' || origin === 'record' ? 'field' : 'item'
  return `${count} ${unit}${Number(count) === 1 ? '' : 's'}`
}

function formatFoundSize(input: unknown): string {
  return typeof input === 'string' || Array.isArray(input) ? `, found ${input.length}` : ''
}
