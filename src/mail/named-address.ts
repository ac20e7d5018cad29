/**
 * A mailbox as people write one: `bob@b.test`, `Bob <bob@b.test>`, `"Bob, of B" <bob@b.test>`.
 *
 * One mailbox alone, read strictly: what looks like a list would lose a recipient if it
 * were taken for a name. The name is what it says, encoded words are not decoded.
 */
import { type Address, addressOrNull } from './address.js'

export interface NamedAddress {
  readonly address: Address
  /** Empty where there is none. */
  readonly name: string
}

/** In characters. */
export const MAX_NAME = 256

/** Of name, address and all around them. */
const MAX_LENGTH = 1000

const bracketed = /^(.*)<([^<>]*)>$/s
const quoted = /^"((?:[^"\\]|\\.)*)"$/s

export function namedAddressOrNull(text: string): NamedAddress | null {
  if (text.length > MAX_LENGTH) return null
  const trimmed = text.trim()
  const [, phrase, inside] = bracketed.exec(trimmed) ?? []
  if (phrase === undefined || inside === undefined) return named(trimmed, '')
  const name = nameOf(phrase.trim())
  return name === null ? null : named(inside, name)
}

function named(text: string, name: string): NamedAddress | null {
  const address = addressOrNull(text)
  return address === null ? null : { address, name }
}

function nameOf(phrase: string): string | null {
  const inside = quoted.exec(phrase)?.[1]
  if (inside === undefined && (/[<>]/.test(phrase) || (phrase.includes('@') && /[,;]/.test(phrase)))) return null
  const name = (inside?.replace(/\\(.)/gs, '$1') ?? phrase).trim()
  return isName(name) ? name : null
}

/** May `name` stand before an address: one line, well-formed, not without end. */
export function isName(name: string): boolean {
  return name.length <= MAX_NAME && isOneLine(name)
}

/** No CR, LF or NUL and no half of a surrogate pair: it can be said in a header field and read back. */
export function isOneLine(text: string): boolean {
  return !/[\r\n\0]|\p{Cs}/u.test(text)
}
