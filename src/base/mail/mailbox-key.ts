/** Keys under which different spellings of one mailbox's address are equal. */
import { type Address, domainOf, localPartOf, tryParseForeignAddress } from './address.js'

/** The same for every spelling of a local part that names the same mailbox on this server. */
export function localPartKey(address: Address): string {
  const localPart = localPartOf(address).normalize('NFC').toLowerCase()
  if (!localPart.startsWith('"')) return localPart
  const bare = localPart.slice(1, -1).replace(/\\(.)/g, '$1')
  // A local part with blanks or specials needs its quotes.
  return tryParseForeignAddress(`${bare}@quoted.invalid`) === null || bare.startsWith('"')
    ? `"${bare.replace(/["\\]/g, '\\$&')}"`
    : bare
}

/**
 * A key for the person behind an address, as far as its text shows it: without the detail after a `+` (RFC 5233),
 * quoted or not, in compatibility form. Use it for limits only, never for delivery: if a server delivers `a+b` and `a`
 * to different people, they share a limit.
 */
export function personKey(address: Address): string {
  const key = localPartKey(address).normalize('NFKC').toLowerCase()
  const [name = ''] = key.replace(/^"/, '').split('+')
  return `${name === '' ? key : name}@${domainOf(address)}`
}
