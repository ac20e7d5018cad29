/**
 * Renders a template with values: the subject and the bodies. Pure.
 *
 * Values are text, numbers and booleans. Any other value counts as missing, and the default of the variable replaces
 * it if there is one. We substitute values once: a variable within a value stays text. We escape values in HTML,
 * percent-encode them in a part of a URL, and remove their line ends in a subject. We read only own properties of
 * the data, never inherited ones.
 *
 * We compute the size before we render anything, so a short template that repeats a long value costs nothing.
 * Escaped values have a separate limit, because escaping is the most expensive step: 256 K quotes take some
 * milliseconds.
 */
import { formatForDisplay } from '../../base/mail/address.js'
import { findLineFault } from '../../base/mail/named-address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { encodeForUrl } from '../../base/mail/url-part.js'
import { isRecord, ownValueOf } from '../../base/platform/records.js'
import { listVariableNames, type TemplateText, UNSUBSCRIBE_URL, type Variable } from './template-text.js'

export interface ParsedTemplate {
  readonly id: string
  readonly subject: TemplateText
  /** Null means that the template has no HTML. */
  readonly html: TemplateText | null
  readonly text: TemplateText | null
}

export type TemplateData = Readonly<Record<string, unknown>>

interface RenderedTemplate {
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
}

/** 15 MB for the subject and the bodies together, which is the limit of a message. */
const MAX_RENDERED = 15 * 1_048_576
/** 2 MB for the subject and the bodies of a preview. A page shows less. */
const MAX_PREVIEWED = 2 * 1_048_576
/** Characters of all escaped values. A value counts once. */
const MAX_ESCAPED = 262_144
/** Characters. */
export const MAX_SUBJECT = 998
/** Variables that a refusal reports one by one. */
const MAX_ERRORS = 100

/** Characters of a template and its values that the main thread renders, which takes a millisecond. */
const MAX_RENDERED_HERE = 65_536

/** Does what `renderTemplate` does. Null means that rendering takes longer than the main thread may be blocked. */
export function renderSmallTemplate(
  template: ParsedTemplate,
  data: TemplateData,
  unsubscribeUrl: string,
): RenderedTemplate | null {
  const values = collectValues(template, data)
  let size = 0
  for (const { literalBytes, uses } of textsOf(template)) {
    size += literalBytes
    for (const [variable, times] of uses) size += textOf(values, variable).length * times
  }
  return size > MAX_RENDERED_HERE ? null : renderWithValues(template, values, unsubscribeUrl, MAX_RENDERED)
}

/** Throws a Refusal: `invalid-template-variables`, `too-large`, or `invalid-parameter` for an invalid subject. */
export function renderTemplate(template: ParsedTemplate, data: TemplateData, unsubscribeUrl: string): RenderedTemplate {
  return renderWithValues(template, collectValues(template, data), unsubscribeUrl, MAX_RENDERED)
}

export interface RenderedPreview extends RenderedTemplate {
  /** All variables of the template except `unsubscribe_url`. */
  readonly variables: readonly string[]
  /** The required variables that have no value. The preview shows their names in place of values. */
  readonly missing: readonly string[]
}

/** Does the same as `renderTemplate`, but accepts missing values and renders up to `MAX_PREVIEWED`. */
export function renderPreview(template: ParsedTemplate, data: TemplateData, unsubscribeUrl: string): RenderedPreview {
  const values = findValues(template, data)
  const missing = listMissing(template, values)
  for (const name of missing) values.set(name, standInOf(name))
  const variables = listVariableNames(textsOf(template))
  return { ...renderWithValues(template, values, unsubscribeUrl, MAX_PREVIEWED), variables, missing }
}

function renderWithValues(
  { subject, html, text }: ParsedTemplate,
  values: Values,
  unsubscribeUrl: string,
  limit: number,
): RenderedTemplate {
  values.set(UNSUBSCRIBE_URL, unsubscribeUrl)
  if (html !== null) checkEscapedSize(html, values)
  const forms: readonly (readonly [TemplateText | null, PartFormat])[] = [
    [subject, subjectFormat],
    [html, htmlFormat],
    [text, textFormat],
  ]
  const size = forms.reduce((sum, [part, form]) => sum + (part === null ? 0 : renderedSizeOf(part, values, form)), 0)
  if (size > limit) {
    const message = `the template with these values has ${size} bytes, allowed: ${limit}`
    throw new Refusal('too-large', message, { size, limit })
  }
  return {
    subject: checkSubject(renderPart(subject, values, subjectFormat)),
    html: html === null ? null : renderPart(html, values, htmlFormat),
    text: text === null ? null : renderPart(text, values, textFormat),
  }
}

function checkEscapedSize({ uses }: TemplateText, values: Values): void {
  const escaped = [...uses.keys()].filter(({ raw }) => !raw)
  const size = escaped.reduce((sum, variable) => sum + textOf(values, variable).length, 0)
  if (size <= MAX_ESCAPED) return
  const message = `the values that are escaped have ${size} characters, allowed: ${MAX_ESCAPED}`
  throw new Refusal('too-large', message, { size, limit: MAX_ESCAPED })
}

function checkSubject(text: string): string {
  if (findLineFault(text) === null && text.length <= MAX_SUBJECT) return text
  const rule = findLineFault(text) ?? `has ${text.length} characters with these values, allowed: ${MAX_SUBJECT}`
  throw new Refusal('invalid-parameter', `subject: ${rule}`, { field: 'subject', value: formatForDisplay(text) })
}

/** Values by name. A variable without a value here has a default. */
type Values = Map<string, string>

function textOf(values: Values, { name, fallback }: Variable): string {
  return values.get(name) ?? fallback ?? ''
}

function findValues(template: ParsedTemplate, data: TemplateData): Values {
  const found = listVariableNames(textsOf(template)).map(
    (name) => [name, findValueText(data, name.split('.'))] as const,
  )
  return new Map(found.flatMap(([name, value]) => (value === null ? [] : [[name, value]])))
}

function listMissing(template: ParsedTemplate, values: Values): readonly string[] {
  const required = listRequiredNames(textsOf(template))
  return listVariableNames(textsOf(template)).filter((name) => required.has(name) && !values.has(name))
}

function collectValues(template: ParsedTemplate, data: TemplateData): Values {
  const values = findValues(template, data)
  const variables = listMissing(template, values)
  if (variables.length === 0) return values
  throw new Refusal('invalid-template-variables', `template_data has no value for: ${formatNames(variables)}`, {
    template_id: template.id,
    variables,
    errors: variables.slice(0, MAX_ERRORS).map((name) => ({
      field: `template_data.${name}`,
      message:
        findValue(data, name.split('.')) === undefined
          ? 'is required by the template'
          : 'must be text, a number or a boolean',
      value: null,
    })),
  })
}

function textsOf({ subject, html, text }: ParsedTemplate): readonly TemplateText[] {
  return [subject, html, text].filter((part) => part !== null)
}

/** The names of variables that occur without a default. */
function listRequiredNames(texts: readonly TemplateText[]): ReadonlySet<string> {
  const variables = texts.flatMap(({ uses }) => [...uses.keys()])
  return new Set(variables.filter(({ fallback }) => fallback === null).map(({ name }) => name))
}

const MAX_LISTED_NAMES = 10

function formatNames(names: readonly string[]): string {
  const more = names.length > MAX_LISTED_NAMES ? `, and ${names.length - MAX_LISTED_NAMES} more` : ''
  return `${names.slice(0, MAX_LISTED_NAMES).join(', ')}${more}`
}

/** The value that a variable of this path has in the data, as text. Null means that there is none. */
export function findValueText(data: TemplateData, path: readonly string[]): string | null {
  return toText(findValue(data, path))
}

function findValue(data: TemplateData, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, word) => (isRecord(value) ? ownValueOf(value, word) : undefined), data)
}

function toText(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

/** Says how to write values in one part of the message. */
interface PartFormat {
  /** An upper bound of the bytes of the written value. */
  readonly size: (value: string, variable: Variable) => number
  readonly write: (value: string, variable: Variable) => string
}

const textFormat: PartFormat = {
  size: (value, { part }) => Buffer.byteLength(value) * (part === null ? 1 : BYTES_OF_ENCODED),
  write: encodeInUrl,
}

/** The unsubscribe link of one recipient stays out of the subject, because lists and events show the subject. */
const subjectFormat: PartFormat = {
  ...textFormat,
  write: (value, { name }) => (name === UNSUBSCRIBE_URL ? '' : value.replace(/[\r\n]+/g, '')),
}

const htmlFormat: PartFormat = {
  size: (value, { raw, part }) =>
    Buffer.byteLength(value) * (part === null ? 1 : BYTES_OF_ENCODED) + (raw ? 0 : escapingOverheadOf(value)),
  write: (value, variable) => (variable.raw ? value : escapeHtml(encodeInUrl(value, variable))),
}

/** The length of one byte that is percent-encoded. */
const BYTES_OF_ENCODED = 3

/** A preview shows the name of a variable without a value. That name is not a part of the URL yet. */
function encodeInUrl(value: string, { name, part }: Variable): string {
  const isOwn = part === null || name === UNSUBSCRIBE_URL || value === standInOf(name)
  return isOwn ? value : encodeForUrl(value, part)
}

function standInOf(name: string): string {
  return `{{${name}}}`
}

function renderedSizeOf({ literalBytes, uses }: TemplateText, values: Values, { size }: PartFormat): number {
  let sum = literalBytes
  for (const [variable, times] of uses) sum += size(textOf(values, variable), variable) * times
  return sum
}

function renderPart({ pieces, uses }: TemplateText, values: Values, { write }: PartFormat): string {
  const written = new Map([...uses.keys()].map((variable) => [variable, write(textOf(values, variable), variable)]))
  return pieces.map((piece) => (typeof piece === 'string' ? piece : written.get(piece))).join('')
}

/** Entities by the code of their character. All codes are below 64. */
const entities: readonly (Buffer | undefined)[] = Array.from({ length: 64 }, (_, code) => {
  const entity = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }[String.fromCharCode(code)]
  return entity === undefined ? undefined : Buffer.from(entity)
})
const specialCharacters = /[&<>"']/

function escapingOverheadOf(value: string): number {
  if (!specialCharacters.test(value)) return 0
  let added = 0
  for (let at = 0; at < value.length; at += 1) added += (entities[value.charCodeAt(at)]?.length ?? 1) - 1
  return added
}

/** Escapes in one pass over the bytes, because `replace` with a callback takes ten times as long. */
function escapeHtml(value: string): string {
  if (!specialCharacters.test(value)) return value
  const octets = Buffer.from(value)
  const text = Buffer.allocUnsafe(octets.length + escapingOverheadOf(value))
  let at = 0
  for (let from = 0; from < octets.length; from += 1) {
    const octet = octets[from] ?? 0
    const entity = entities[octet]
    if (entity === undefined) text[at++] = octet
    else for (let part = 0; part < entity.length; part += 1) text[at++] = entity[part] ?? 0
  }
  return text.toString()
}
