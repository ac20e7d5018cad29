/**
 * Hints at addresses that may not belong on a list. None of them refuses anything: a person decides.
 */
import { type Address, domainOf } from '../../base/mail/address.js'
import type { AddressHint, HintedLine, HintSummary } from '../../base/storage/tables/content-tables.js'
import { isDisposable, loadDisposableDomains } from './disposable-domains.js'
import { findIntendedDomain } from './mistyped-domain.js'
import { isRoleName } from './role-names.js'

/** Lines that a report lists: it is stored with each batch of rows. */
export const MAX_HINTS = 100

/** Finds what is to be said about an address. */
export type FindHints = (email: Address) => readonly AddressHint[]

export async function createHintFinder(): Promise<FindHints> {
  const disposable = await loadDisposableDomains()
  return (email) => {
    const domain = domainOf(email)
    const local = email.slice(0, email.lastIndexOf('@'))
    const intended = findIntendedDomain(domain)
    return [
      ...(intended === null ? [] : [{ hint: 'typo', suggestion: `${local}@${intended}` } as const]),
      // The list has some slips of large providers, which others have registered.
      ...(intended === null && isDisposable(domain, disposable)
        ? [{ hint: 'disposable', suggestion: null } as const]
        : []),
      ...(isRoleName(local) ? [{ hint: 'role', suggestion: null } as const] : []),
    ]
  }
}

export const noHints: HintSummary = { hinted: { role: 0, disposable: 0, typo: 0 }, hints: [] }

/** `before`: of an import that an earlier version has begun it has none. */
export function addHints(before: Partial<HintSummary>, lines: readonly HintedLine[]): HintSummary {
  const { hinted, hints } = { ...noHints, ...before }
  const countOf = (kind: AddressHint['hint']): number => hinted[kind] + lines.filter(({ hint }) => hint === kind).length
  return {
    hinted: { role: countOf('role'), disposable: countOf('disposable'), typo: countOf('typo') },
    hints: [...hints, ...lines.slice(0, MAX_HINTS - hints.length)],
  }
}
