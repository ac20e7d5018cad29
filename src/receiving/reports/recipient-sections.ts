/**
 * Which words of a report belong to which of its recipients.
 *
 * Where it names several, a stretch belongs to the one that its first line names: to the next line
 * that names another, or to a blank line. What no stretch holds belongs to none of them: words that
 * are attributed wrongly would suppress an address that is well.
 */
import { type Address, localPartOf } from '../../mail/address.js'
import { findAddresses, mailboxPartOf } from './report-addresses.js'

const MAX_LINE = 2_000
/** Of those who help, not of those who failed. */
const supportMailboxes =
  /^(mailer-daemon|postmaster|hostmaster|abuse|support|help|helpdesk|admin\w{0,10}|no-?reply|root|security)$/

/** Which lines speak of which of `all` the report's recipients; both in lower case. One pass. */
export function sectionsOf(lines: readonly string[], all: readonly Address[]): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>(all.map((name) => [name.toLowerCase(), []]))
  let current: string[] | undefined
  for (const line of lines) {
    const named = findNamedRecipients(line, sections)
    if (named.length > 1 || line.trim() === '') current = undefined
    else if (named[0] !== undefined) current = sections.get(named[0])
    current?.push(line)
  }
  return sections
}

function findNamedRecipients(line: string, sections: ReadonlyMap<string, unknown>): readonly string[] {
  if (!line.includes('@') || line.length > MAX_LINE) return []
  return findAddresses(line, 10)
    .map((name) => name.toLowerCase())
    .filter((name) => sections.has(name))
}

/** The server's words name addresses, and none is any of these: they speak of another mailbox. */
export function namesOnlyOthers(words: string, own: readonly (Address | null)[]): boolean {
  const named = findAddresses(words, 10).filter((name) => !supportMailboxes.test(localPartOf(name).toLowerCase()))
  const mailboxes = own.flatMap((address) => (address === null ? [] : [mailboxOf(address)]))
  return mailboxes.length > 0 && named.length > 0 && !named.some((name) => mailboxes.includes(mailboxOf(name)))
}

/** Without its case, its detail (`bob+shop`), and its domain, which servers further on replace by their own. */
function mailboxOf(address: Address): string {
  return mailboxPartOf(address).toLowerCase()
}
