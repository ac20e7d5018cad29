/**
 * A mailbox as people write one: `bob@b.test`, `Bob <bob@b.test>`, `"Bob, of B" <bob@b.test>`.
 *
 * One mailbox alone, read strictly: what looks like a list would lose a recipient if it
 * were taken for a name. The name is what it says, encoded words are not decoded.
 */
import { type Address, tryParseAddress } from './address.js'

export interface NamedAddress {
  readonly address: Address
  /** Empty where there is none. */
  readonly name: string
}

/** In characters. */
export const MAX_NAME_LENGTH = 256

/** Of name, address and all around them. */
const MAX_LENGTH = 1000

const bracketedForm = /^(.*)<([^<>]*)>$/s
const quotedForm = /^"((?:[^"\\]|\\.)*)"$/s

export function tryParseNamedAddress(text: string): NamedAddress | null {
  if (text.length > MAX_LENGTH) return null
  const trimmed = text.trim()
  const [, phrase, inside] = bracketedForm.exec(trimmed) ?? []
  if (phrase === undefined || inside === undefined) return toNamedAddress(trimmed, '')
  const name = parseDisplayName(phrase.trim())
  return name === null ? null : toNamedAddress(inside, name)
}

function toNamedAddress(text: string, name: string): NamedAddress | null {
  const address = tryParseAddress(text)
  return address === null ? null : { address, name }
}

function parseDisplayName(phrase: string): string | null {
  const inside = quotedForm.exec(phrase)?.[1]
  if (inside === undefined && (/[<>]/.test(phrase) || (phrase.includes('@') && /[,;]/.test(phrase)))) return null
  const name = (inside?.replace(/\\(.)/gs, '$1') ?? phrase).trim()
  return isDisplayName(name) ? name : null
}

/** May `name` stand before an address: one line, well-formed, not without end. */
export function isDisplayName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && isOneLine(name)
}

/** No CR, LF or NUL and no half of a surrogate pair: it can be said in a header field and read back. */
export function isOneLine(text: string): boolean {
  return !/[\r\n\0]|\p{Cs}/u.test(text)
}
