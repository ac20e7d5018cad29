/**
 * Finds the part of a host name that its owner has registered, by the list of public suffixes.
 *
 * Known limit: the list is as old as the installed package.
 */
import { getDomain, getPublicSuffix, parse } from 'tldts'

/**
 * The domain that one owner holds: `example.co.uk`, or `shop.github.io`, since a service like github.io gives names to
 * its customers. Null for an address, a suffix and a name of one label.
 */
export function findOwnerDomain(name: string): string | null {
  return getDomain(name, { allowPrivateDomains: true })
}

/** The same for any name: one below a suffix that is on no list, as `mail.example.test`, belongs to its last two labels. */
export function ownerDomainOf(name: string): string {
  return findOwnerDomain(name) ?? name.split('.').slice(-2).join('.')
}

/**
 * The domain below a suffix of a registry: `github.io`, which may give the names below it to others. Null for an
 * address, a suffix and a name of one label.
 */
export function findRegistryDomain(name: string): string | null {
  return getDomain(name)
}

/** The suffix of a registry at the end of a name, such as `co.uk`. Empty for an address. */
export function registrySuffixOf(name: string): string {
  return getPublicSuffix(name) ?? ''
}

/** Whether the whole name is a suffix that the list has, of a registry or of a service. */
export function isPublicSuffix(name: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(name, { allowPrivateDomains: true })
  return publicSuffix === name && (isIcann === true || isPrivate === true)
}
