/**
 * Which names may become sending domains: fully qualified ones, and none of the service's
 * own, whose mail nobody but the service may send.
 *
 * Known limit: a public suffix (`co.uk`) is taken; whoever registers one cannot publish
 * its records, so it never gets verified.
 */
import { type DomainName, domainNameOrNull, shown } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'

export interface OwnNames {
  readonly hostname: string
  readonly zone: string
}

/** In lower-case A-labels. Throws a Refusal that names the field `domain`. */
export function registrableName(text: string, { hostname, zone }: OwnNames): DomainName {
  const name = domainNameOrNull(text)
  if (name === null || !/\.(?!\d+$)[^.]+$/.test(name)) {
    throw refusal(text, 'a domain name of two labels or more, such as example.com')
  }
  if ([hostname, zone].some((own) => name === own || name.endsWith(`.${own}`))) {
    throw refusal(text, 'any domain but those of the service itself')
  }
  return name
}

function refusal(text: string, allowed: string): Refusal {
  const value = shown(text)
  return new Refusal('invalid-parameter', `domain: found "${value}", allowed: ${allowed}`, { field: 'domain', value })
}
