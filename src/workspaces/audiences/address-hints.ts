/** Hints at addresses that may not belong on a list. A hint refuses nothing: a person decides. */
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

/** How many labels of a name it compares, because services give out subdomains too. */
const MAX_LABELS = 5

/** Lines that a report lists. Each batch of rows stores the report. */
export const MAX_HINTS = 100

/** Finds the hints about an address. */
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

export function addHints({ hinted, hints }: HintSummary, lines: readonly HintedLine[]): HintSummary {
  const countOf = (kind: AddressHint['hint']): number => hinted[kind] + lines.filter(({ hint }) => hint === kind).length
  return {
    hinted: { role: countOf('role'), disposable: countOf('disposable'), typo: countOf('typo') },
    hints: hints.length >= MAX_HINTS ? hints : [...hints, ...lines.slice(0, MAX_HINTS - hints.length)],
  }
}

/**
 * Domains that give out addresses for some minutes, from a published list that is as old as its version. The first
 * use loads the list, because parsing it takes some milliseconds.
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
 * Finds domains that are one slip of the keyboard away from one of the large mailbox providers: one character too
 * many, too few or different, or two exchanged (Damerau-Levenshtein distance 1).
 *
 * It does not ask DNS. A domain on the list is never a slip of another. A name of fewer than five characters before
 * the dot has too many real neighbours. After the dot, it compares only `.com`, because `yahoo.se` is not a slip of
 * `yahoo.es`.
 *
 * Returns the domain that was probably meant, or null if there is none.
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

/** Tells whether the distance of the two is exactly 1. */
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
 * Recognises local parts that stand for a function and not for a person. Several people or none read such mail, and
 * they report it as spam more often. The list has those of RFC 2142 and others that were collected by hand.
 *
 * The case and a `+detail` do not matter.
 */
function isRoleName(localPart: string): boolean {
  return roleNames.has(localPart.toLowerCase().replace(/\+.*$/s, ''))
}
