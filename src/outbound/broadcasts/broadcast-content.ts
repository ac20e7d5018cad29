/**
 * Parses and checks the content of a broadcast: which variables it may use, and how much of everything it may have.
 *
 * The limits bound the size of every message, whatever the contacts contain: a value has at most `MAX_VALUE` characters
 * (`contact-message.ts`), and stands in at most `MAX_PLACES` places.
 */

import { formatForDisplay } from '../../base/mail/address.js'
import { findLineFault, type NamedAddress } from '../../base/mail/named-address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { MAX_SUBJECT } from '../../workspaces/content/render-template.js'
import {
  listVariableNames,
  parseBoundedText,
  parseTemplateText,
  type TemplateText,
} from '../../workspaces/content/template-text.js'

export interface BroadcastContent {
  readonly sender: NamedAddress
  readonly replyTo: readonly NamedAddress[]
  readonly subject: string
  /** Null means that there is no HTML. At least one of the two bodies is not empty. */
  readonly html: string | null
  readonly text: string | null
}

export interface ParsedContent {
  readonly subject: TemplateText
  /** Null means that there is no HTML. */
  readonly html: TemplateText | null
  readonly text: TemplateText | null
}

/** Characters of a body. */
const MAX_BODY = 500_000
/** The most variables in the subject and the bodies. Each occurrence counts. */
const MAX_PLACES = 500

const contactFields: ReadonlySet<string> = new Set(['email', 'first_name', 'last_name'])

/** Throws a Refusal: `invalid-parameter`, `invalid-template-variables`, `too-large`. */
export function parseBroadcastContent({ subject, html, text }: BroadcastContent): ParsedContent {
  if (!html && !text) throw buildInvalid('html', '', 'html or text is required')
  checkLength('html', html)
  checkLength('text', text)
  const parsed = {
    subject: parseTemplateText('subject', checkSubject(subject)),
    html: html ? parseBoundedText('html', html, MAX_PLACES + 1) : null,
    text: text ? parseBoundedText('text', text, MAX_PLACES + 1) : null,
  }
  checkVariables(parsed)
  return parsed
}

function checkLength(field: 'html' | 'text', body: string | null): void {
  const size = body?.length ?? 0
  if (size <= MAX_BODY) return
  const message = `${field}: has ${size} characters, allowed: ${MAX_BODY}`
  throw new Refusal('too-large', message, { field, size, limit: MAX_BODY })
}

function checkSubject(subject: string): string {
  const fault = findLineFault(subject)
  if (fault === null && subject.length <= MAX_SUBJECT) return subject
  throw buildInvalid('subject', subject, fault ?? `has ${subject.length} characters, allowed: ${MAX_SUBJECT}`)
}

function buildInvalid(field: string, value: string, rule: string): Refusal {
  return new Refusal('invalid-parameter', `${field}: ${rule}`, { field, value: formatForDisplay(value) })
}

function checkVariables(content: ParsedContent): void {
  const parts = (['subject', 'html', 'text'] as const).flatMap((field) => {
    const text = content[field]
    return text === null ? [] : [{ field, text }]
  })
  const unknown = parts.flatMap(({ field, text }) =>
    listVariableNames([text])
      .filter((name) => !isContactVariable(name))
      .map((name) => ({ field, message: 'contacts have no variable with this name', value: formatForDisplay(name) })),
  )
  if (unknown.length > 0) throw buildUnknown(unknown)
  const places = parts.flatMap(({ text }) => [...text.uses.values()]).reduce((sum, times) => sum + times, 0)
  if (places <= MAX_PLACES) return
  const message = `subject and bodies use variables more than ${MAX_PLACES} times`
  throw new Refusal('too-large', message, { limit: MAX_PLACES })
}

function isContactVariable(name: string): boolean {
  return contactFields.has(name) || name.startsWith('metadata.')
}

/** The most variables that a refusal reports one by one and names in its text. */
const MAX_ERRORS = 100
const MAX_LISTED_NAMES = 10

interface UnknownVariable {
  readonly field: string
  readonly message: string
  readonly value: string
}

function buildUnknown(unknown: readonly UnknownVariable[]): Refusal {
  const variables = [...new Set(unknown.map(({ value }) => value))]
  const listed = variables.slice(0, MAX_LISTED_NAMES).join(', ')
  const known = 'email, first_name, last_name, metadata.x and unsubscribe_url'
  const message = `a broadcast has the variables ${known}, not: ${listed}`
  const errors = unknown.slice(0, MAX_ERRORS)
  return new Refusal('invalid-template-variables', message, { variables: variables.slice(0, MAX_ERRORS), errors })
}
