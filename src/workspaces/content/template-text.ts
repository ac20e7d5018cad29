/**
 * Parses the text of a template into literal text and variables. Pure.
 *
 * A variable is `{{name}}` or `{{{name}}}`, with or without blanks inside the braces. `{{name|text}}` gives a
 * default. A name consists of words of letters, digits, `_` and `-`, joined by dots. Any other template syntax stays
 * literal text. One pass takes linear time in the length of the text, and stops after the largest number of
 * variables. A variable in two braces knows the part of the URL in which it is (`url-places.ts`).
 */
import { escapeHtml } from '../../base/mail/markup.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { UrlPart } from '../../base/mail/url-part.js'
import { HtmlUrlPlaces, noUrlPlaces, TextUrlPlaces, type UrlPlaces } from './url-places.js'

/** A variable. Equal variables of a text are one object. */
export interface Variable {
  readonly name: string
  /** The words of its name. */
  readonly path: readonly string[]
  /** True for three braces: HTML does not escape its value. */
  readonly raw: boolean
  /** The default for a value that the data lacks. Null means that the value is required. */
  readonly fallback: string | null
  /**
   * The part of a URL that contains the variable. The value is encoded for it. It is null outside of URLs and for
   * three braces.
   */
  readonly part: UrlPart | null
}

/** The part of a message to which a text belongs. */
type TemplateField = 'subject' | 'html' | 'text'

export interface TemplateText {
  readonly pieces: readonly (string | Variable)[]
  /** Bytes of the literal text. */
  readonly literalBytes: number
  /** How often each variable occurs. */
  readonly uses: ReadonlyMap<Variable, number>
}

/** The variable for the link by which a recipient unsubscribes. We set its value. */
export const UNSUBSCRIBE_URL = 'unsubscribe_url'

const NAME_PATTERN = String.raw`[\p{L}\p{N}_][\p{L}\p{M}\p{N}_-]{0,99}(?:\.[\p{L}\p{N}_][\p{L}\p{M}\p{N}_-]{0,99}){0,9}`
/** The pattern has no braces, so that the scans of two places never overlap. It has at most 500 characters. */
const FALLBACK_PATTERN = String.raw`\|([^{}]{0,500})`
const VARIABLE_PATTERN = String.raw`\s{0,20}(${NAME_PATTERN})\s{0,20}(?:${FALLBACK_PATTERN})?`
const variablePattern = new RegExp(String.raw`\{\{\{${VARIABLE_PATTERN}\}\}\}|\{\{${VARIABLE_PATTERN}\}\}`, 'gu')

const nameForm = new RegExp(`^${NAME_PATTERN}$`, 'u')

export function isVariableName(text: string): boolean {
  return nameForm.test(text)
}

/** Changes the text around its variables, which stay as they are. */
export function mapLiterals(text: string, change: (literal: string) => string): string {
  const pieces: string[] = []
  let end = 0
  for (const match of text.matchAll(variablePattern)) {
    pieces.push(change(text.slice(end, match.index)), match[0])
    end = match.index + match[0].length
  }
  pieces.push(change(text.slice(end)))
  return pieces.join('')
}

/** Places of variables in a text. A variable counts each time it occurs. */
export const MAX_PLACES = 5_000

/** Throws a Refusal `invalid-parameter` for more than `MAX_PLACES` variables. */
export function parseTemplateText(field: TemplateField, text: string): TemplateText {
  const parsed = parseBoundedText(field, text, MAX_PLACES + 1)
  let places = 0
  for (const times of parsed.uses.values()) places += times
  if (places <= MAX_PLACES) return parsed
  const message = `${field}: the template has variables in more than ${MAX_PLACES} places: leave some out`
  throw new Refusal('invalid-parameter', message, { field, value: places, limit: MAX_PLACES })
}

/** What follows `maxPlaces` variables is literal text. The caller refuses a text that has so many. */
export function parseBoundedText(field: TemplateField, text: string, maxPlaces: number): TemplateText {
  const pieces: (string | Variable)[] = []
  const known = new Map<string, Variable>()
  const uses = new Map<Variable, number>()
  const urls = createUrlPlaces(field)
  let literalBytes = 0
  let end = 0
  let places = 0

  function pushLiteral(to: number): void {
    if (to === end) return
    const piece = text.slice(end, to)
    literalBytes += Buffer.byteLength(piece)
    pieces.push(piece)
    urls.passLiteral(piece)
  }

  for (const match of text.matchAll(variablePattern)) {
    const [matched, raw, rawFallback, escaped, fallback] = match
    pushLiteral(match.index)
    const part = urls.passVariable()
    const variable = internVariable(known, {
      name: raw ?? escaped ?? '',
      raw: raw !== undefined,
      fallback: (rawFallback ?? fallback)?.trim() ?? null,
      part: raw === undefined ? part : null,
    })
    pieces.push(variable)
    uses.set(variable, (uses.get(variable) ?? 0) + 1)
    end = match.index + matched.length
    places += 1
    if (places >= maxPlaces) break
  }
  pushLiteral(text.length)
  return { pieces, literalBytes, uses }
}

function createUrlPlaces(field: TemplateField): UrlPlaces {
  switch (field) {
    case 'subject':
      return noUrlPlaces
    case 'html':
      return new HtmlUrlPlaces()
    case 'text':
      return new TextUrlPlaces()
  }
}

function internVariable(known: Map<string, Variable>, variable: Omit<Variable, 'path'>): Variable {
  const { name, raw, fallback, part } = variable
  const key = `${raw ? '{' : ''}${part === null ? '' : `${part}:`}${name}${fallback === null ? '' : `|${fallback}`}`
  const found = known.get(key) ?? { ...variable, path: name.split('.') }
  known.set(key, found)
  return found
}

/** The names in several texts, in order, without repetitions and without `unsubscribe_url`. */
export function listVariableNames(texts: readonly TemplateText[]): readonly string[] {
  const names = new Set(texts.flatMap(({ uses }) => [...uses.keys()]).map(({ name }) => name))
  names.delete(UNSUBSCRIBE_URL)
  return [...names]
}

/** `UNSUBSCRIBE_URL` in two or three braces. */
const unsubscribePattern = /\{\{\{\s{0,20}unsubscribe_url\s{0,20}\}\}\}|\{\{\s{0,20}unsubscribe_url\s{0,20}\}\}/g

/**
 * Replaces `{{unsubscribe_url}}` in a body that is not a template. Any other variable stays text. It escapes the URL
 * in HTML, unless the variable has three braces. `checkSize` gets the bytes while they grow, and may throw.
 */
export function insertUnsubscribeUrl(
  body: string,
  url: string,
  form: 'html' | 'text',
  checkSize: (bytes: number) => void,
): string {
  if (!body.includes(UNSUBSCRIBE_URL)) return body
  const escaped = form === 'html' ? escapeHtml(url) : url
  let size = body.length
  return body.replace(unsubscribePattern, (matched) => {
    size += escaped.length - matched.length
    checkSize(size)
    return matched.startsWith('{{{') ? url : escaped
  })
}
