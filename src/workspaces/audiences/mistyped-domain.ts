/**
 * Finds domains that are one slip of the keyboard away from one of the large mailbox providers: a character too many, too
 * few, another, or two exchanged (Damerau-Levenshtein distance 1).
 *
 * Nothing asks DNS. A domain of the list itself is never a slip of another. Names of fewer than five characters before
 * the dot have too many real neighbours. After it, only `.com` is compared: `yahoo.se` is no `yahoo.es`.
 */
import { mailboxProviders } from '../../base/mail/mailbox-providers.js'

const MIN_NAME = 5

const known: ReadonlySet<string> = new Set(mailboxProviders.flatMap(({ domains }) => domains))
const targets = [...known]
  .filter((domain) => nameOf(domain).length >= MIN_NAME)
  .map((domain) => ({ domain, name: nameOf(domain), ending: domain.slice(nameOf(domain).length) }))

/** The domain that was probably meant; null: none. */
export function findIntendedDomain(domain: string): string | null {
  const typed = domain.toLowerCase()
  if (known.has(typed)) return null
  const found = targets.find(({ domain: target, name, ending }) => {
    if (typed.endsWith(ending)) return isOneSlip(typed.slice(0, -ending.length), name)
    return ending === '.com' && typed.startsWith(name) && isOneSlip(typed, target)
  })
  return found?.domain ?? null
}

function nameOf(domain: string): string {
  return domain.slice(0, domain.indexOf('.'))
}

/** Is the distance of both exactly 1? */
export function isOneSlip(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1 || one === other) return false
  const shared = sharedStart(one, other)
  const [left, right] = [one.slice(shared), other.slice(shared)]
  if (left.length !== right.length)
    return left.length > right.length ? left.slice(1) === right : left === right.slice(1)
  if (left.slice(1) === right.slice(1)) return true
  return left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2)
}

function sharedStart(one: string, other: string): number {
  let at = 0
  while (at < one.length && one[at] === other[at]) at += 1
  return at
}
