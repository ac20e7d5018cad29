/** Finds addresses in untrusted text: fields of reports, and prose. Linear, never throws. */
import { type Address, domainOf, localPartOf, tryParseIncomingAddress } from '../../../base/mail/address.js'
import { parseMailboxList, truncateList } from '../../../base/mail/mailbox-list.js'
import type { ReportedHeader } from './report.js'
import { firstValueOf } from './report-fields.js'

/** An address in running text has no quoted local part. */
const localCharacter = /[^\s<>()[\]:;,"'`@|?]/
const domainCharacter = /[^\s<>()[\]:;,"'`@|?/\\]/
const MAX_LOCAL = 64
const MAX_DOMAIN = 255

export function findAddresses(text: string, maxAddresses = 50): readonly Address[] {
  const addresses: Address[] = []
  for (let at = text.indexOf('@'); at !== -1 && addresses.length < maxAddresses; at = text.indexOf('@', at + 1)) {
    const match = `${readLocalPart(text, at)}@${readDomain(text, at)}`
    const address = tryParseIncomingAddress(match.replace(/^\{|[.!}*_]{1,10}$/g, ''))
    if (address === null || !domainOf(address).includes('.')) continue
    if (!addresses.some((known) => isSameReportedAddress(known, address))) addresses.push(address)
  }
  return addresses
}

/** The first author of a message with a valid address. Text in a name that looks like an address is none. */
export function authorOf(header: ReportedHeader): Address | null {
  const from = truncateList(firstValueOf(header, 'from') ?? '')
  return parseMailboxList(from).find(({ address }) => address !== null)?.address ?? null
}

/** The characters up to the `@` at `at`; an `=` is one of them, but not the first. */
function readLocalPart(text: string, at: number): string {
  let start = at
  while (start > 0 && at - start <= MAX_LOCAL && localCharacter.test(text.charAt(start - 1))) start--
  const run = text.slice(start, at)
  return run.slice(run.lastIndexOf('==') === -1 ? 0 : run.lastIndexOf('==') + 2).replace(/^=/, '')
}

function readDomain(text: string, at: number): string {
  let end = at + 1
  while (end < text.length && end - at <= MAX_DOMAIN && domainCharacter.test(text.charAt(end))) end++
  return text.slice(at + 1, end)
}

/** Compares addresses, also if servers on the way changed the case of the local part. */
export function isSameReportedAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** The local part without its detail: `bob` for `bob+shop@…`. */
export function mailboxPartOf(address: Address): string {
  const local = localPartOf(address)
  const at = local.indexOf('+')
  return at > 0 ? local.slice(0, at) : local
}

/**
 * The address in Final-Recipient and similar fields: `rfc822; user@host`, with or without brackets. Addresses in utf-8
 * and xtext are decoded (RFC 3464, 6533).
 */
export function parseTypedAddress(value: string | null): Address | null {
  if (value === null) return null
  const text = value.slice(0, 1_000)
  const end = text.indexOf(';')
  const named = /^[\w-]{1,40}$/.test(text.slice(0, Math.max(end, 0)).trim())
  const type = named ? text.slice(0, end).trim() : ''
  const rest = (named ? text.slice(end + 1) : text).trim()
  const bare = rest.startsWith('<') && rest.endsWith('>') ? rest.slice(1, -1) : rest
  const plain = tryParseIncomingAddress(type.toLowerCase() === 'utf-8' ? decodeEscapes(bare) : bare)
  return plain ?? tryParseIncomingAddress(decodeEscapes(bare)) ?? findAddresses(rest, 1)[0] ?? null
}

function decodeEscapes(text: string): string {
  return text
    .replace(/\\x\{([0-9a-f]{2,6})\}/gi, (_, hex: string) => characterOf(Number.parseInt(hex, 16)))
    .replace(/\+([0-9A-F]{2})/g, (_, hex: string) => characterOf(Number.parseInt(hex, 16)))
}

function characterOf(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : '?'
}
