/**
 * Parses parameters of Content-Type and Content-Disposition, also in sections and with a charset (RFC 2231). It is
 * tolerant: a parameter may lack the semicolon before it, occur twice, or have blanks around its equals sign.
 *
 * Limits: 100 parameters, names of 100 characters.
 */
import { decodeHeaderText, decodeParameterText } from '../../../../base/mail/header-text.js'

/** The values by name in lower case, without repetitions. */
type Parameters = ReadonlyMap<string, readonly string[]>

export interface ParsedParameters {
  readonly parameters: Parameters
  /** True if something else than semicolons separates the parameters. */
  readonly isLoose: boolean
  /** True if they are written in the one way that all programs read alike: each once, in one piece. */
  readonly isExact: boolean
}

const MAX_PARAMETERS = 100

const parameterPattern = /([^\s;="()<>@,/[\]?\\]{1,100})\s{0,100}=\s{0,100}(?:"((?:[^"\\]|\\.)*)("|$)|([^\s;]*))/sy
const gapPattern = /[\s;]*/y
const restPattern = /[^;]*/y

/** If `reachesOver`, a value without quotes ends at the next semicolon, even if it contains blanks. */
export function parseParameters(text: string, reachesOver = false): ParsedParameters {
  const parameters = new Map<string, string[]>()
  let isLoose = false
  let isExact = true
  for (let at = 0, count = 0; at < text.length && count < MAX_PARAMETERS; count += 1) {
    const gap = matchAt(gapPattern, text, at)?.[0] ?? ''
    at += gap.length
    if (at === text.length) break
    if (!gap.includes(';')) isLoose = true
    const [found, written = '', quoted, end = '', plain = ''] = matchAt(parameterPattern, text, at) ?? []
    if (found === undefined) {
      isExact = false
      // This is no parameter. It ends at the next blank or semicolon.
      const rest = text.slice(at).search(/[\s;]/)
      at = rest === -1 ? text.length : at + Math.max(rest, 1)
      continue
    }
    at += found.length
    const more = reachesOver && quoted === undefined ? (matchAt(restPattern, text, at)?.[0] ?? '') : ''
    at += more.length
    const name = written.toLowerCase()
    const value = quoted?.replace(/\\(.)/gs, '$1') ?? `${plain}${more}`.trimEnd()
    const values = parameters.get(name)
    if (values !== undefined || name.includes('*') || (quoted === undefined ? !/^[^"()]+$/.test(plain) : end === ''))
      isExact = false
    if (values === undefined) parameters.set(name, [value])
    else if (!values.includes(value)) values.push(value)
  }
  return { parameters, isLoose, isExact: isExact && !isLoose }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

interface Sections {
  /** Returns the text, decoded from its charset. */
  readonly text: () => string
  /** Returns one character for each octet. */
  readonly octets: () => string
}

/** Returns a value in sections or with a charset, which takes precedence over a plain one, or null if there is none. */
export function joinSections(parameters: Parameters, name: string): Sections | null {
  const first = (key: string): string | undefined => parameters.get(key)?.[0]
  const begin = first(`${name}*`) ?? first(`${name}*0*`)
  const sections = [begin ?? first(`${name}*0`)]
  for (let index = 1; index < MAX_PARAMETERS && sections.at(-1) !== undefined; index += 1)
    sections.push(first(`${name}*${index}*`) ?? first(`${name}*${index}`))
  if (sections[0] === undefined) return null
  const whole = sections.join('')
  const [prefix, charset = ''] = (begin === undefined ? null : /^([^']{0,40})'[^']{0,40}'/.exec(whole)) ?? []
  const value = whole.slice(prefix?.length ?? 0)
  return {
    text: () =>
      prefix === undefined ? decodeHeaderText(value) : decodeHeaderText(decodeParameterText(value, charset || 'utf-8')),
    octets: () =>
      begin === undefined
        ? value
        : value.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  }
}
