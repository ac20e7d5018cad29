/**
 * Finds the bounce, among those of a report, that concerns the recipient of its token, and how certain it is.
 * Pure.
 *
 * A token proves to whom the message was sent, not whose mailbox has failed: forwards and aliases cause reports
 * about others. The first rule that matches:
 *
 *   1. the final recipient is ours                  acts, and may suppress
 *   2. the original recipient is ours               acts
 *   3. one bounce alone, which names no recipient   acts
 *   4. one bounce alone, about another address of   acts
 *      the same domain or one below it, that the
 *      message did not go to
 *   5. anything else                                changes nothing
 *
 * If several match, the mildest counts: while one member of an alias has the message, it is not lost.
 */
import { type Address, domainOf, tryParseForeignAddress } from '../../../base/mail/address.js'
import type { Recipient } from '../../../records/messages/email/recipients.js'
import type { Bounce, BounceKind } from './report.js'
import { isSameReportedAddress, mailboxPartOf, parseTypedAddress } from './report-addresses.js'

const severity: Readonly<Record<BounceKind, number>> = { delivered: 0, delayed: 1, temporary: 2, permanent: 3 }

/** Null if it concerns others. `fellows` are the other recipients of the email. */
export function findBounceFor(
  bounces: readonly Bounce[],
  { address, orcpt }: Pick<Recipient, 'address' | 'orcpt'>,
  fellows: readonly string[],
): Bounce | null {
  const own = tryParseForeignAddress(address)
  if (own === null) return null
  const named = bounces.filter(({ recipient }) => recipient !== null && isSameMailbox(recipient, own))
  if (named.length > 0) return findMildest(named)
  const names = [own, parseTypedAddress(orcpt)]
  const byOriginal = bounces.filter(({ original }) => names.some((name) => isSameKnownAddress(name, original)))
  if (byOriginal.length > 0) return withoutFault(findMildest(byOriginal))
  const [only, ...more] = bounces
  return only !== undefined && more.length === 0 && mayBeOurs(only, own, fellows) ? withoutFault(only) : null
}

/** Compares addresses with or without their detail (`bob+shop`), which servers remove. */
function isSameMailbox(named: Address, own: Address): boolean {
  return isSameReportedAddress(named, own) || isSameReportedAddress(named, `${mailboxPartOf(own)}@${domainOf(own)}`)
}

function isSameKnownAddress(one: Address | null, other: Address | null): boolean {
  return one !== null && other !== null && isSameReportedAddress(one, other)
}

/**
 * The bounce names an alias within the domain, or no recipient. An original recipient that is not ours shows whose
 * report it is.
 */
function mayBeOurs({ recipient, original }: Bounce, own: Address, fellows: readonly string[]): boolean {
  if (recipient === null) return true
  if (original !== null && !isSameReportedAddress(original, recipient)) return false
  if (fellows.some((fellow) => isSameReportedAddress(fellow, recipient))) return false
  const domain = domainOf(recipient)
  return domain === domainOf(own) || domain.endsWith(`.${domainOf(own)}`)
}

function withoutFault(bounce: Bounce | null): Bounce | null {
  return bounce === null ? null : { ...bounce, recipientsFault: false }
}

function findMildest(bounces: readonly Bounce[]): Bounce | null {
  return bounces.toSorted((one, other) => severity[one.kind] - severity[other.kind])[0] ?? null
}
