/**
 * A mailbox as people write it: `bob@b.test`, `Bob <bob@b.test>`, `"Bob, of B" <bob@b.test>`.
 *
 * Reads strictly one mailbox: a list that was taken for a name would lose a recipient. Encoded words in the
 * name are not decoded.
 */
import { type Address, tryParseAddress } from './address.js'
import { explainSurrogate } from './address-characters.js'

export interface NamedAddress {
  readonly address: Address
  /** Empty if there is none. */
  readonly name: string
}

/** Characters of a name. */
export const MAX_NAME_LENGTH = 256

/** Characters of the entire text. */
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

/** A text that `tryParseNamedAddress` reads as this mailbox again. */
export function writeNamedAddress({ address, name }: NamedAddress): string {
  if (name === '') return address
  const plain = `${name} <${address}>`
  if (tryParseNamedAddress(plain)?.name === name) return plain
  return `"${name.replace(/["\\]/g, '\\$&')}" <${address}>`
}

/** Whether `name` may stand before an address. It must be one line, well-formed and short enough. */
export function isDisplayName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && isOneLine(name)
}

/** The text has no CR, LF, NUL or lone surrogate, so it survives in a header field. */
function isOneLine(text: string): boolean {
  return findLineFault(text) === null
}

/** Why the text cannot be in a header field, as the predicate of a sentence. Null if it can. */
export function findLineFault(text: string): string | null {
  if (/[\r\n\0]/.test(text)) return 'must be one line: CR, LF and NUL are not allowed'
  return explainSurrogate(text)
}
