/** Rules over several fields of an object. They are checked whatever else is wrong, so that all mistakes are reported. */
import { z } from 'zod'
import { isRecord } from '../../../../base/platform/records.js'
import { missingIssue } from './parse-input.js'

type Check = ReturnType<typeof z.refine>
/** The fields as a rule sees them. Any of them may be wrong or missing. */
type Draft = Readonly<Record<string, unknown>>

export function rule(
  holds: (draft: Draft) => boolean,
  path: string,
  message: string,
  params?: { readonly of: string },
): Check {
  return z.refine<unknown>((draft) => holds(isRecord(draft) ? draft : {}), {
    path: [path],
    message,
    ...(params === undefined ? {} : { params: { ...params } }),
    when: ({ value }) => isRecord(value),
  })
}

export const isGiven = (value: unknown): boolean => value !== undefined

/** The field is required, under this name or the other. */
export function required(name: string, other: string): Check {
  return rule((draft) => isGiven(draft[name]) || isGiven(draft[other]), name, 'is required', missingIssue)
}

/** `other` says what the field `name` says. */
export function notBoth(name: string, other: string, message: string = `is another name of ${name}: give one`): Check {
  return rule((draft) => !(isGiven(draft[name]) && isGiven(draft[other])), other, message)
}
