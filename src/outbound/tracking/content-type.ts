/**
 * Reads Content-Type and Content-Disposition of a MIME part strictly (RFC 2045 section 5.1): what is ambiguous is null.
 */

interface DeclaredValue {
  /** Lower case. */
  readonly word: string
  /** By their names in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

/** Characters; a longer value is not read. */
const MAX_VALUE = 10_000

const wordPattern = /[\w!#$&^.+-]+(?:\/[\w!#$&^.+-]+)?[ \t]*/y
const parameterPattern = /;[ \t]*(?:([^\s;="()<>@,/[\]?\\]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"()]+))[ \t]*)?/y

/** The first word, such as `text/html`, whatever follows it; empty: there is none. */
export function readDeclaredWord(value: string): string {
  wordPattern.lastIndex = 0
  return wordPattern.exec(value.slice(0, MAX_VALUE))?.[0].trim().toLowerCase() ?? ''
}

/** Null: it has a comment, a parameter twice, one that is continued or encoded (RFC 2231), or another syntax. */
export function parseDeclaredValue(value: string): DeclaredValue | null {
  if (value.length > MAX_VALUE) return null
  wordPattern.lastIndex = 0
  const word = wordPattern.exec(value)?.[0]
  if (word === undefined) return null
  const parameters = new Map<string, string>()
  let at = word.length
  while (at < value.length) {
    parameterPattern.lastIndex = at
    const found = parameterPattern.exec(value)
    if (found === null) return null
    at += found[0].length
    const [, written, quoted, token] = found
    if (written === undefined) continue
    const name = written.toLowerCase()
    if (name.includes('*') || parameters.has(name)) return null
    parameters.set(name, quoted?.replace(/\\(.)/g, '$1') ?? token ?? '')
  }
  return { word: word.trim().toLowerCase(), parameters }
}
