/**
 * Reads what the header of a part declares about its content (RFC 2045 sections 5 and 6, RFC 2183). It is tolerant: it
 * accepts comments, parameters without a semicolon before them, words in quotes, and fields that occur twice. A
 * declaration that programs read differently is `ambiguous`.
 *
 * Limits: 10,000 characters of a field, 100 parameters.
 */
import { findFields, type Header, readFieldValue } from '../../../../base/mail/header-fields.js'
import { decodeHeaderText } from '../../../../base/mail/header-text.js'
import { joinSections, type ParsedParameters, parseParameters } from './parameters.js'
import { readTransferEncoding, type TransferEncoding } from './transfer-encoding.js'

interface DeclaredType extends ParsedParameters {
  readonly type: string
  readonly ambiguous: boolean
}

/** The most characters of a field. */
const MAX_VALUE = 10_000
/** The most characters of a boundary. RFC 2046 section 5.1.1 allows 70. */
const MAX_BOUNDARY = 200

const noType: DeclaredType = { type: '', parameters: new Map(), isExact: true, isLoose: false, ambiguous: false }

export class DeclaredContent {
  /** `type/subtype` in lower case. Empty if the header does not say it. */
  readonly type: string
  readonly encoding: TransferEncoding
  /** The disposition in lower case. Empty if the header does not say it. */
  readonly disposition: string
  readonly ambiguous: boolean
  /** True if type and encoding are written once, and the type in the one way that all programs read alike. */
  readonly isExact: boolean
  private readonly declared: DeclaredType
  private readonly typeValue: string
  private readonly dispositionValue: string
  private readonly id: string

  constructor(raw: Buffer, header: Header) {
    const valuesOf = (name: string): readonly string[] =>
      findFields(header, name).map((field) => readFieldValue(raw, field).slice(0, MAX_VALUE))
    const types = valuesOf('content-type')
    const written = types.filter((value) => value !== '')
    const encodings = valuesOf('content-transfer-encoding')
    const read = encodings.map((value) => readTransferEncoding(withoutComments(value).text))
    this.typeValue = written[0] ?? ''
    this.dispositionValue = valuesOf('content-disposition')[0] ?? ''
    this.id = valuesOf('content-id').at(-1) ?? ''
    this.disposition = readFirstWord(this.dispositionValue)
    this.declared = this.typeValue === '' ? noType : this.parseType(this.typeValue)
    this.type = this.declared.type
    this.encoding = read[0]?.encoding ?? ''
    this.isExact = this.declared.isExact && types.length <= 1 && encodings.length <= 1
    this.ambiguous =
      this.declared.ambiguous ||
      read.some((one) => one.ambiguous || one.encoding !== this.encoding) ||
      written.some((other) => other !== this.typeValue && this.parseType(other).type !== this.type)
  }

  private parseType(value: string): DeclaredType {
    return parseContentType(value, this.disposition === 'attachment')
  }

  /** Returns a parameter of the type. Empty if it is not there. */
  parameter(name: string): string {
    return this.declared.parameters.get(name)?.[0] ?? ''
  }

  /** The boundaries of a multipart, in the order in which to try them. */
  get boundaries(): readonly string[] {
    return boundariesOf(this.declared.parameters)
  }

  /** The decoded file name. Empty if there is none. */
  get dispositionName(): string {
    return readName(this.dispositionValue, 'filename')
  }

  get typeName(): string {
    return readName(this.typeValue, 'name')
  }

  /** The Content-ID without its angle brackets. Empty if there is none. */
  get contentId(): string {
    return decodeHeaderText(this.id.replace(/^<|>$/g, ''))
  }
}

const typePattern = /^[\s"';]*([\w!#$&^.+*-]{1,127})\s*\/\s*([\w!#$&^.+*-]{1,127})/
const knownTypes = /^(?:text|multipart|message|application|image|audio|video|font|model|x-[\w-]{1,60})\//

function parseContentType(written: string, isAttached: boolean): DeclaredType {
  const value = withoutComments(written)
  const [found = '', main = '', sub = ''] = typePattern.exec(value.text) ?? []
  const read = parseParameters(value.text.slice(found.length || value.text.search(/[\s;]|$/)))
  const { parameters } = read
  const type = found === '' ? typeOfWord(parameters, isAttached) : `${main}/${sub}`.toLowerCase()
  const isStray = found === '' || /^[\s"';]/.test(value.text)
  const isStrange = isStray || !knownTypes.test(type)
  const isTwice = (parameters.get('boundary')?.length ?? 0) > 1
  const ambiguous = isTwice || !value.isBalanced || ((isStrange || read.isLoose) && isStructural(type))
  const isExact = read.isExact && !isStray && value.text === written && !/[\s*]/.test(found)
  return { ...read, type, ambiguous, isExact }
}

/** Returns what a type of one word means: plain text (RFC 2045 section 5.2), unless it is a file or has a boundary. */
function typeOfWord(parameters: DeclaredType['parameters'], isAttached: boolean): string {
  if (parameters.has('boundary')) return 'multipart/mixed'
  return isAttached ? 'application/octet-stream' : 'text/plain'
}

/** Tells whether the type decides what the text says or which parts there are. */
function isStructural(type: string): boolean {
  return /^(?:text|multipart|message)\//.test(type)
}

/** Returns the boundary as written, without other quotes, and joined from its sections, to be tried in order. */
function boundariesOf(parameters: DeclaredType['parameters']): readonly string[] {
  const sections = joinSections(parameters, 'boundary')
  const written = [...(parameters.get('boundary') ?? []), ...(sections === null ? [] : [sections.octets()])]
  const candidates = written.flatMap((value) => [value, value.trimEnd(), value.trim(), value.replace(/^'(.*)'$/, '$1')])
  return [...new Set(candidates)].filter((value) => value !== '' && value.length <= MAX_BOUNDARY)
}

/** Reads a file name. What looks like a comment is part of it: programs write parentheses without quotes. */
function readName(value: string, name: string): string {
  if (!value.toLowerCase().includes('name')) return ''
  const { parameters } = parseParameters(value.slice(value.search(/;|$/)), true)
  return joinSections(parameters, name)?.text() ?? decodeHeaderText(parameters.get(name)?.[0] ?? '')
}

function readFirstWord(value: string): string {
  return /^[\s"';]*([\w!#$&^.+-]{1,60})/.exec(value)?.[1]?.toLowerCase() ?? ''
}

/** Replaces comments by blanks (RFC 5322 section 3.2.2), except in quotes and in a value with an endless comment. */
function withoutComments(value: string): { readonly text: string; readonly isBalanced: boolean } {
  if (!value.includes('(')) return { text: value, isBalanced: true }
  let text = ''
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at] ?? ''
    if (character === '\\') {
      if (depth === 0) text += value.slice(at, at + 2)
      at += 1
      continue
    }
    if (character === '"' && depth === 0) isQuoted = !isQuoted
    if (character === '(' && !isQuoted) depth += 1
    else if (character === ')' && depth > 0) {
      depth -= 1
      text += ' '
    } else if (depth === 0) text += character
  }
  return depth === 0 ? { text, isBalanced: true } : { text: value, isBalanced: false }
}
