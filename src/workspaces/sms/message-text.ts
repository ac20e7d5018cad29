/** The text of a message with a code: the template of the request, or our own, with its placeholders filled in. */
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'

/**
 * UTF-16 units of a template. Its message has at most eight segments, or ten if nearly all of it are placeholders
 * for long codes.
 */
export const MAX_TEMPLATE_LENGTH = 480

const DEFAULT_TEMPLATE = 'Your verification code is {code}, valid for {minutes} minutes.'
const DEFAULT_TEMPLATE_OF_A_MINUTE = 'Your verification code is {code}, valid for 1 minute.'

interface CodeValues {
  readonly code: string
  readonly minutes: number
}

/** Throws a Refusal. Text in braces other than the two placeholders stays as it is. */
export function checkTemplate(template: string): void {
  const fault = findFault(template)
  if (fault === null) return
  throw new Refusal('invalid-parameter', `template: ${fault}`, {
    field: 'template',
    value: formatForDisplay(template),
  })
}

function findFault(template: string): string | null {
  const { length } = template
  if (length > MAX_TEMPLATE_LENGTH) return `must have at most ${MAX_TEMPLATE_LENGTH} characters, found ${length}`
  if (!template.includes('{code}')) return 'must contain {code}'
  if (/[^\P{Cc}\n]/u.test(template)) return 'must have no control characters but line feeds'
  return !/\p{Cs}/u.test(template) ? null : 'must be well-formed Unicode, without half of a surrogate pair'
}

/** `template` was checked before. Undefined means the default text. */
export function buildMessageText(template: string | undefined, { code, minutes }: CodeValues): string {
  const text = template ?? (minutes === 1 ? DEFAULT_TEMPLATE_OF_A_MINUTE : DEFAULT_TEMPLATE)
  return text.replaceAll(/\{(?:code|minutes)\}/g, (placeholder) => (placeholder === '{code}' ? code : String(minutes)))
}
