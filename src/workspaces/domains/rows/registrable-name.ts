/**
 * Decides which names may become sending domains: fully qualified ones that do not belong to the service.
 *
 * We refuse public suffixes (`co.uk`, `github.io`), because they belong to all registrants below them. We refuse
 * reserved names (RFC 2606, RFC 6761, RFC 7686, RFC 9476) at once, because they never exist in DNS. We allow names
 * of closed networks: `.test`, `.local`, `.internal`, and names below `home.arpa`.
 */

import { type DomainName, explainAddress, formatForDisplay, tryParseDomainName } from '../../../base/mail/address.js'
import { isPublicSuffix } from '../../../base/mail/public-suffix.js'
import { Refusal } from '../../../base/mail/refusal.js'

export interface ServiceNames {
  readonly hostname: string
  readonly zone: string
}

/** The name of a domain of mail in lower-case A-labels, or null: it has two labels or more, and no underscore. */
function tryParseMailDomain(text: string): DomainName | null {
  const name = tryParseDomainName(text)
  return name !== null && /\.(?!\d+$)[^.]+$/.test(name) && !name.includes('_') ? name : null
}

/** What the operator may register: names of the service, and reserved ones for closed networks, too. Throws a Refusal. */
export function parseMailDomain(text: string): DomainName {
  const name = tryParseMailDomain(text)
  if (name !== null) return name
  const value = formatForDisplay(text)
  const message = `not a domain name: ${value}; allowed: a name such as example.com`
  throw new Refusal('invalid-parameter', message, { field: 'domain', value })
}

/** Returns the name in lower-case A-labels. Throws a Refusal that names the field `domain`. */
export function parseRegistrableName(text: string, { hostname, zone }: ServiceNames): DomainName {
  const name = tryParseMailDomain(text)
  if (name === null) {
    throw buildRefusal(
      text,
      explainAddress(`@${text}`, 'a domain name of two labels or more without "_", such as news.your-company.com'),
    )
  }
  if ([hostname, zone].some((own) => name === own || name.endsWith(`.${own}`))) {
    throw buildRefusal(text, 'any domain except those of the service itself')
  }
  if (isReserved(name)) throw buildRefusal(text, 'any name that is not reserved: this one never exists in DNS')
  if (isPublicSuffix(name)) throw buildRefusal(text, 'a domain below a public suffix, not the suffix itself')
  return name
}

const reservedNames = [
  'localhost',
  'invalid',
  'example',
  'example.com',
  'example.net',
  'example.org',
  'onion',
  'alt',
  'arpa',
]

function isReserved(name: DomainName): boolean {
  return reservedNames.some((one) => name.endsWith(`.${one}`) || name === one) && !name.endsWith('.home.arpa')
}

function buildRefusal(text: string, allowed: string): Refusal {
  const value = formatForDisplay(text)
  return new Refusal('invalid-parameter', `domain: found "${value}", allowed: ${allowed}`, { field: 'domain', value })
}
