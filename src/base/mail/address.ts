/**
 * Addresses and domain names: parsed once at the edge, trusted inside.
 *
 * An `Address` is an RFC 5321 mailbox (section 4.1.2) with its domain in lower-case A-labels (RFC 5890), so
 * that it can be compared, routed and signed as it is. The local part keeps its case and its quotes and may
 * be UTF-8 (RFC 6531). Address literals (`user@[192.0.2.1]`) are not accepted: a message to one can be neither
 * authenticated nor bounced sensibly.
 *
 * Limits: 64 octets of local part, 255 of domain, 254 of both (RFC 5321 section 4.5.3.1). Addresses of other servers may be
 * longer: `tryParseForeignAddress`.
 */
import { domainToASCII } from 'node:url'
import {
  explainAddressFault,
  explainSurrogate,
  hasLocalCharactersOnly,
  hasVisibleCharactersOnly,
  isValidLabel,
} from './address-characters.js'
import { toPrintableText } from './printable.js'
import { Refusal } from './refusal.js'

declare const brand: unique symbol

/** Lower case, A-labels, no trailing dot, such as `xn--mnchen-3ya.example`. */
export type DomainName = string & { readonly [brand]: 'DomainName' }
/** `local@domain`, the domain a `DomainName`. */
export type Address = string & { readonly [brand]: 'Address' }

const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/
/** RFC 5321 and 6531 exclude controls, blanks and specials from an atom; lone surrogates cannot be written in UTF-8. */
const atom = '[^\\p{Cc}\\p{Cs}\\s()<>[\\]:;@\\\\,."]+'
const dotString = new RegExp(`^${atom}(?:\\.${atom})*$`, 'u')
/** A shortcut for most addresses: all rules in one expression. It accepts nothing that the other rules refuse. */
const plainAddress =
  /^[\w!#$%&'*+/=?^`{|}~-]{1,64}@(?:(?!-|xn--)[a-z0-9_-]{1,63}(?<!-)\.){0,8}(?!xn--)[a-z](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
/** The same characters with dots between, before or behind them. */
const foreignLocal = /^[^\p{Cc}\p{Cs}\s()<>[\]:;@\\,"]+$/u
/** Octets. With the domain it fits into a command of 512 octets (RFC 5321 section 4.5.3.1.4). */
const MAX_FOREIGN_LOCAL = 240
const quotedString = /^"([\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/

/** The domain name in `text`, or null. A single label (`localhost`) is a domain name too. */
export function tryParseDomainName(text: string): DomainName | null {
  if (!hasVisibleCharactersOnly(text)) return null
  const name = readDomainName(text)
  return name?.split('.').every(isValidLabel) === true ? name : null
}

/** The name that is looked up. Invisible characters are dropped, and labels are not checked for validity. */
export function readDomainName(text: string): DomainName | null {
  const bare = text.endsWith('.') ? text.slice(0, -1) : text
  if (bare === '' || bare.length > 255 || /[\s%/:@?#[\]\\]/.test(bare)) return null
  // ASCII names skip IDN processing, which refuses the underscore that real names have.
  const ascii = /^[\x21-\x7e]+$/.test(bare) ? bare.toLowerCase() : domainToASCII(bare)
  if (ascii === '' || ascii.length > 253 || /^[0-9.]+$/.test(ascii)) return null
  return ascii.split('.').every((part) => label.test(part)) ? (ascii as DomainName) : null
}

export function parseDomainName(text: string): DomainName {
  const name = tryParseDomainName(text)
  if (name === null)
    throw new Refusal('invalid-address', `not a domain name: ${formatForDisplay(text)}`, {
      value: formatForDisplay(text),
    })
  return name
}

/** The mailbox in `text`, or null. */
export function tryParseAddress(text: string): Address | null {
  if (text.length <= 254 && plainAddress.test(text)) return text as Address
  const at = text.lastIndexOf('@')
  if (at < 1) return null
  const local = text.slice(0, at)
  if (Buffer.byteLength(local) > 64) return null
  if (!dotString.test(local) && !quotedString.test(local)) return null
  if (!hasLocalCharactersOnly(local)) return null
  const domain = tryParseDomainName(text.slice(at + 1))
  if (domain === null || Buffer.byteLength(local) + 1 + domain.length > 254) return null
  return joinAddress(local, domain)
}

function joinAddress(local: string, domain: DomainName | null): Address | null {
  return domain === null ? null : (`${local}@${domain}` as Address)
}

/**
 * The mailbox of another server, as that server writes it, or null. Servers have longer local parts (forwarded mail,
 * return paths and reply tokens of others), and mailboxes with dots in any place. `tryParseAddress` parses the
 * addresses that we generate, and those of senders here.
 */
export function tryParseForeignAddress(text: string): Address | null {
  const strict = tryParseAddress(text)
  if (strict !== null) return strict
  const { local, domain } = splitForeign(text)
  return local !== null && hasLocalCharactersOnly(local) ? joinAddress(local, tryParseDomainName(domain)) : null
}

/**
 * Does the same for incoming mail. It may have characters that we send to no one: the domain is the one that is looked
 * up.
 */
export function tryParseIncomingAddress(text: string): Address | null {
  const strict = tryParseAddress(text)
  if (strict !== null) return strict
  const { local, domain } = splitForeign(text)
  return local === null ? null : joinAddress(local, readDomainName(domain))
}

/** `local` is null if there is none. */
function splitForeign(text: string): { readonly local: string | null; readonly domain: string } {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  const isLocal =
    Buffer.byteLength(local) <= MAX_FOREIGN_LOCAL && (foreignLocal.test(local) || quotedString.test(local))
  return { local: isLocal ? local : null, domain: text.slice(at + 1) }
}

export function parseAddress(text: string): Address {
  const address = tryParseAddress(text)
  if (address === null)
    throw new Refusal('invalid-address', `${explainAddress(text, 'not a mail address')}: ${formatForDisplay(text)}`, {
      value: formatForDisplay(text),
    })
  return address
}

/** The rule that an address breaks, with the character at fault where there is one. `rule` is the general one. */
export function explainAddress(text: string, rule: string): string {
  // This also finds one in a name before the address.
  const surrogate = explainSurrogate(text)
  if (surrogate !== null) return `${rule}: it ${surrogate}`
  const inBrackets = text.slice(text.lastIndexOf('<') + 1)
  const fault = explainAddressFault(inBrackets.replace('>', ''))
  return fault === null ? rule : `${rule}: it ${fault}`
}

export function domainOf(address: Address): DomainName {
  return address.slice(address.lastIndexOf('@') + 1) as DomainName
}

/** Addresses are compared in lower case: no real mail system distinguishes mailboxes by case alone. */
export function toLowerCaseAddress(address: Address): Address {
  return address.toLowerCase() as Address
}

export function localPartOf(address: Address): string {
  return address.slice(0, address.lastIndexOf('@'))
}

/** Whether the address needs SMTPUTF8, because its local part is not ASCII (RFC 6531 section 3.2). */
export function needsUtf8(address: Address): boolean {
  return /[^\x20-\x7e]/.test(address)
}

const MAX_DISPLAY_LENGTH = 100

/** A client's value that is safe to repeat in a message: printable, short, without lone surrogates. */
export function formatForDisplay(text: string): string {
  // It is cut first, because it may have megabytes.
  const beginning = text.slice(0, text.length > MAX_DISPLAY_LENGTH ? MAX_DISPLAY_LENGTH - 3 : MAX_DISPLAY_LENGTH)
  const safe = toPrintableText(beginning)
  return text.length > MAX_DISPLAY_LENGTH ? `${safe}...` : safe
}
