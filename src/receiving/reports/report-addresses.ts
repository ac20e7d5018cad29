/** Addresses out of strangers' text: fields of reports, and words for people. Linear, never throws. */
import { type Address, addressOrNull, domainOf, localPartOf } from '../../mail/address.js'

/** An address in running text: no quoted local part. */
const inText = /[^\s<>()[\]:;,"'`@|=?]{1,64}(?:=[^\s<>()[\]:;,"'`@|=?]{1,64}){0,3}@[^\s<>()[\]:;,"'`@|?/\\]{1,255}/g

export function addressesIn(text: string, most = 50): readonly Address[] {
  const found: Address[] = []
  for (const [match] of text.matchAll(inText)) {
    const address = addressOrNull(match.replace(/^\{|[.!}*_]{1,10}$/g, ''))
    if (address === null || !domainOf(address).includes('.')) continue
    if (!found.some((known) => sameAddress(known, address))) found.push(address)
    if (found.length === most) break
  }
  return found
}

/** Also where servers on the way have changed the case of the local part. */
export function sameAddress(one: Address, other: Address): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** The local part without its detail: `bob` of `bob+shop@…`. */
export function mailboxPart(address: Address): string {
  const local = localPartOf(address)
  const at = local.indexOf('+')
  return at > 0 ? local.slice(0, at) : local
}

/** Of Final-Recipient and its like: `rfc822; user@host`, brackets or not; utf-8 and xtext undone (RFC 3464, 6533). */
export function typedAddress(value: string | null): Address | null {
  if (value === null) return null
  const text = value.slice(0, 1_000)
  const end = text.indexOf(';')
  const named = /^[\w-]{1,40}$/.test(text.slice(0, Math.max(end, 0)).trim())
  const type = named ? text.slice(0, end).trim() : ''
  const rest = (named ? text.slice(end + 1) : text).trim()
  const bare = rest.startsWith('<') && rest.endsWith('>') ? rest.slice(1, -1) : rest
  const plain = addressOrNull(type.toLowerCase() === 'utf-8' ? unescaped(bare) : bare)
  return plain ?? addressOrNull(unescaped(bare)) ?? addressesIn(rest, 1)[0] ?? null
}

function unescaped(text: string): string {
  return text
    .replace(/\\x\{([0-9a-f]{2,6})\}/gi, (_, hex: string) => character(Number.parseInt(hex, 16)))
    .replace(/\+([0-9A-F]{2})/g, (_, hex: string) => character(Number.parseInt(hex, 16)))
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : '?'
}
