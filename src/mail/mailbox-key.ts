/** One text for the many ways in which the address of one mailbox can be written. */
import { type Address, domainOf, localPartOf, tryParseAddress } from './address.js'

/** What stands for every way to write a local part that names the same mailbox here. */
export function localPartKey(address: Address): string {
  const localPart = localPartOf(address).normalize('NFC').toLowerCase()
  if (!localPart.startsWith('"')) return localPart
  const bare = localPart.slice(1, -1).replace(/\\(.)/g, '$1')
  // Blanks and specials need their quotes.
  return tryParseAddress(`${bare}@quoted.invalid`) === null || bare.startsWith('"')
    ? `"${bare.replace(/["\\]/g, '\\$&')}"`
    : bare
}

/**
 * The person behind an address, as far as its text tells: without the detail behind a `+`
 * (RFC 5233), quoted or not, in compatibility form. For limits alone, never for delivery: where a
 * server gives `a+b` to somebody else than `a`, both share a limit.
 */
export function personKey(address: Address): string {
  const key = localPartKey(address).normalize('NFKC').toLowerCase()
  const [name = ''] = key.replace(/^"/, '').split('+')
  return `${name === '' ? key : name}@${domainOf(address)}`
}
