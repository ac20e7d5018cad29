/**
 * Assigns the text of a report to its recipients.
 *
 * If it names several, a section belongs to the recipient in its first line, up to the next line that names
 * another or to a blank line. Text outside of sections belongs to none: text that is attributed wrongly would
 * suppress a working address.
 */
import { type Address, localPartOf } from '../../../base/mail/address.js'
import { findAddresses, mailboxPartOf } from './report-addresses.js'

const MAX_LINE = 2_000
/** Introduces addresses for help, not failed ones. */
const supportMailboxes =
  /^(mailer-daemon|postmaster|hostmaster|abuse|support|help|helpdesk|admin\w{0,10}|no-?reply|root|security)$/

/** The lines about each of `all`, the report's recipients; both in lower case. One pass. */
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

/** The server's text names addresses, and none of `own` is among them: it concerns another mailbox. */
export function namesOnlyOthers(words: string, own: readonly (Address | null)[]): boolean {
  const named = findAddresses(words, 10).filter((name) => !supportMailboxes.test(localPartOf(name).toLowerCase()))
  const mailboxes = own.flatMap((address) => (address === null ? [] : [mailboxOf(address)]))
  return mailboxes.length > 0 && named.length > 0 && !named.some((name) => mailboxes.includes(mailboxOf(name)))
}

/** Ignoring case, detail (`bob+shop`) and domain, which later servers replace by their own. */
function mailboxOf(address: Address): string {
  return mailboxPartOf(address).toLowerCase()
}
