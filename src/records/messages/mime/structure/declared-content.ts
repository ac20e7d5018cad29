/**
 * Reads what the header of a part declares about its content, generously (RFC 2045 sections 5 and 6, RFC 2231):
 * comments, parameters without a semicolon before them, words in quotes, fields that occur twice. What programs read
 * differently is `ambiguous`.
 *
 * Limits: 10,000 characters of a field, 100 parameters.
 */
import { findFields, type Header, type HeaderField, readFieldValue } from '../../../../base/mail/header-fields.js'

export interface DeclaredContent {
  /** `type/subtype` in lower case; empty: it is not said. */
  readonly type: string
  /** The boundaries of a multipart, in the order in which they are to be tried. */
  readonly boundaries: readonly string[]
  readonly encoding: TransferEncoding
  /** Empty: it is not said. */
  readonly charset: string
  /** In lower case; empty: it is not said. */
  readonly disposition: string
  /** The value of Content-Type as every parser reads it; null: it is not said. */
  readonly canonicalType: string | null
  readonly ambiguous: boolean
}

interface DeclaredType {
  readonly type: string
  readonly parameters: ReadonlyMap<string, readonly string[]>
  readonly ambiguous: boolean
}

/** Characters. */
const MAX_VALUE = 10_000
const MAX_PARAMETERS = 100
/** RFC 2046 section 5.1.1 allows 70 characters. */
const MAX_BOUNDARY = 200

export function readDeclaredContent(raw: Buffer, header: Header): DeclaredContent {
  const types = valuesOf(raw, header, 'content-type').filter((value) => value !== '')
  const written = valuesOf(raw, header, 'content-transfer-encoding').map(readEncoding)
  const disposition = readFirstWord(valuesOf(raw, header, 'content-disposition')[0] ?? '')
  const parse = (value: string): DeclaredType => parseContentType(value, disposition === 'attachment')
  const declared = types[0] === undefined ? null : parse(types[0])
  const [encoding] = written
  return {
    type: declared?.type ?? '',
    boundaries: declared === null ? [] : boundariesOf(declared.parameters),
    encoding: encoding?.encoding ?? '',
    charset: declared?.parameters.get('charset')?.[0] ?? '',
    disposition,
    canonicalType: declared === null ? null : formatContentType(declared),
    ambiguous:
      declared?.ambiguous === true ||
      written.some((one) => one.ambiguous || one.encoding !== encoding?.encoding) ||
      types.some((other) => parse(other).type !== declared?.type),
  }
}

/** The field is written so that every parser finds it under its name. */
export function isPlainlyNamed(raw: Buffer, { name, start, colon }: HeaderField): boolean {
  return colon - start === name.length && raw[colon - 1] !== 0x20
}

function valuesOf(raw: Buffer, header: Header, name: string): readonly string[] {
  return findFields(header, name).map((field) => readFieldValue(raw, field).slice(0, MAX_VALUE))
}

const typePattern = /^[\s"';]*([\w!#$&^.+*-]{1,127})\s*\/\s*([\w!#$&^.+*-]{1,127})/
const knownTypes = /^(?:text|multipart|message|application|image|audio|video|font|model|x-[\w-]{1,60})\//

function parseContentType(written: string, isAttached: boolean): DeclaredType {
  const value = withoutComments(written)
  const [found = '', main = '', sub = ''] = typePattern.exec(value.text) ?? []
  const { parameters, isLoose } = parseParameters(value.text.slice(found.length || value.text.search(/[\s;]|$/)))
  const type = found === '' ? typeOfWord(parameters, isAttached) : `${main}/${sub}`.toLowerCase()
  const isStrange = found === '' || /^[\s"';]/.test(value.text) || !knownTypes.test(type)
  const isTwice = (parameters.get('boundary')?.length ?? 0) > 1
  const ambiguous = isTwice || !value.isBalanced || ((isStrange || isLoose) && isStructural(type))
  return { type, parameters, ambiguous }
}

/** What a type of one word says: a plain text (RFC 2045 section 5.2), but for a file, or with a boundary. */
function typeOfWord(parameters: DeclaredType['parameters'], isAttached: boolean): string {
  if (parameters.has('boundary')) return 'multipart/mixed'
  return isAttached ? 'application/octet-stream' : 'text/plain'
}

/** Whether the type decides what the text says or which parts there are. */
function isStructural(type: string): boolean {
  return /^(?:text|multipart|message)\//.test(type)
}

const parameterPattern = /([^\s;="()<>@,/[\]?\\]{1,100})\s{0,100}=\s{0,100}(?:"((?:[^"\\]|\\.)*)(?:"|$)|([^\s;]*))/sy
const gapPattern = /[\s;]*/y

interface Parameters {
  readonly parameters: ReadonlyMap<string, readonly string[]>
  /** They are not divided by semicolons alone. */
  readonly isLoose: boolean
}

function parseParameters(text: string): Parameters {
  const parameters = new Map<string, string[]>()
  let isLoose = false
  for (let at = 0, count = 0; at < text.length && count < MAX_PARAMETERS; count += 1) {
    gapPattern.lastIndex = at
    const gap = gapPattern.exec(text)?.[0] ?? ''
    at += gap.length
    if (at === text.length) break
    parameterPattern.lastIndex = at
    const [found, name = '', quoted, plain = ''] = parameterPattern.exec(text) ?? []
    if (!gap.includes(';')) isLoose = true
    if (found === undefined) {
      // No parameter: up to the next blank or semicolon.
      const rest = text.slice(at).search(/[\s;]/)
      at = rest === -1 ? text.length : at + Math.max(rest, 1)
      continue
    }
    at += found.length
    const value = quoted?.replace(/\\(.)/gs, '$1') ?? plain
    const values = parameters.get(name.toLowerCase())
    if (values === undefined) parameters.set(name.toLowerCase(), [value])
    else if (!values.includes(value)) values.push(value)
  }
  return { parameters, isLoose }
}

/** A boundary is tried as written, without quotes of another kind, and put together from its sections (RFC 2231 section 3). */
function boundariesOf(parameters: DeclaredType['parameters']): readonly string[] {
  const sections: string[] = []
  for (let index = 0; index < MAX_PARAMETERS; index += 1) {
    const [section] = parameters.get(`boundary*${index}`) ?? parameters.get(`boundary*${index}*`) ?? []
    if (section === undefined) break
    sections.push(index === 0 && parameters.has('boundary*0*') ? withoutCharset(section) : section)
  }
  const [extended] = parameters.get('boundary*') ?? []
  const written = [
    ...(parameters.get('boundary') ?? []),
    ...(extended === undefined ? [] : [withoutCharset(extended)]),
    ...(sections.length === 0 ? [] : [sections.join('')]),
  ]
  const candidates = written.flatMap((value) => [value, value.trimEnd(), value.trim(), value.replace(/^'(.*)'$/, '$1')])
  return [...new Set(candidates)].filter((value) => value !== '' && value.length <= MAX_BOUNDARY)
}

function withoutCharset(value: string): string {
  const plain = value.replace(/^[^']{0,40}'[^']{0,40}'/, '')
  return plain.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function formatContentType({ type, parameters }: DeclaredType): string {
  const written = [...parameters].map(([name, [value = '']]) => `; ${name}="${value.replace(/["\\\r\n]/g, '')}"`)
  return `${type}${written.join('')}`
}

/** How mailparser is told of an encoding; `uuencode` is decoded before. */
type TransferEncoding = '' | 'base64' | 'quoted-printable' | 'uuencode'

const encodings: ReadonlyMap<string, TransferEncoding> = new Map([
  ...(['base64', 'quoted-printable', 'uuencode'] as const).map((word) => [word, word] as const),
  ...['x-uuencode', 'x-uue', 'uue'].map((word) => [word, 'uuencode'] as const),
])

/** An unknown word means that the content is as it is; one that resembles a known one is ambiguous. */
function readEncoding(written: string): { readonly encoding: TransferEncoding; readonly ambiguous: boolean } {
  const value = withoutComments(written).text.trim().toLowerCase()
  const encoding = encodings.get(readFirstWord(value)) ?? ''
  return { encoding, ambiguous: encodings.get(value) === undefined && /64|quot|print|uu|yenc|hex/.test(value) }
}

function readFirstWord(value: string): string {
  return /^[\s"';]*([\w!#$&^.+-]{1,60})/.exec(value)?.[1]?.toLowerCase() ?? ''
}

/** Comments become blanks (RFC 5322 section 3.2.2); what stands in quotes stays, and so does a value with one that never ends. */
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
