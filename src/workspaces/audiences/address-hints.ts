/**
 * Hints at addresses that may not belong on a list. None of them refuses anything: a person decides.
 */
import { type Address, domainOf } from '../../base/mail/address.js'
import { mailboxProviders } from '../../base/mail/mailbox-providers.js'
import type { AddressHint, HintedLine, HintSummary } from '../../base/storage/tables/content-tables.js'

const ofRfc2142 =
  'info marketing sales support abuse noc security postmaster hostmaster usenet news webmaster www uucp ftp'

const ofHand =
  'accounts admin administrator all billing careers contact devnull donotreply do-not-reply enquiries everyone feedback ' +
  'hello help helpdesk hr inquiries invoices it jobs legal list mail mailer-daemon no-reply noreply null office orders ' +
  'press privacy registrar root service spam staff subscribe sysadmin team tech undisclosed-recipients unsubscribe'

const roleNames: ReadonlySet<string> = new Set(`${ofRfc2142} ${ofHand}`.split(' '))

const MIN_NAME = 5

const known: ReadonlySet<string> = new Set(mailboxProviders.flatMap(({ domains }) => domains))

const targets = [...known]
  .filter((domain) => nameOf(domain).length >= MIN_NAME)
  .map((domain) => ({ domain, name: nameOf(domain), ending: domain.slice(nameOf(domain).length) }))

let loading: Promise<ReadonlySet<string>> | null = null

/** Labels of a name that are looked at: services give out subdomains too. */
const MAX_LABELS = 5

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

/**
 * Domains that give out addresses for some minutes, from a published list, which is as old as its version. It is loaded
 * when it is needed for the first time: parsing it takes some milliseconds.
 */
function loadDisposableDomains(): Promise<ReadonlySet<string>> {
  loading ??= import('disposable-email-domains-js').then(({ disposableEmailBlocklistSet }) =>
    disposableEmailBlocklistSet(),
  )
  return loading
}

function isDisposable(domain: string, disposable: ReadonlySet<string>): boolean {
  const labels = domain.toLowerCase().split('.').slice(-MAX_LABELS)
  return labels.some((_label, start) => start < labels.length - 1 && disposable.has(labels.slice(start).join('.')))
}

/**
 * Finds domains that are one slip of the keyboard away from one of the large mailbox providers: a character too many, too
 * few, another, or two exchanged (Damerau-Levenshtein distance 1).
 *
 * Nothing asks DNS. A domain of the list itself is never a slip of another. Names of fewer than five characters before
 * the dot have too many real neighbours. After it, only `.com` is compared: `yahoo.se` is no `yahoo.es`.
 *
 * The domain that was probably meant; null: none.
 */
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

/**
 * Recognizes local parts that stand for a function and not for a person: mail to them is read by several people or by
 * none, and is reported as spam more often. Those of RFC 2142, and others that were collected by hand.
 *
 * In any case, with or without `+detail`.
 */
function isRoleName(localPart: string): boolean {
  return roleNames.has(localPart.toLowerCase().replace(/\+.*$/s, ''))
}
