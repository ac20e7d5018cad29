/**
 * Which words of a report belong to which of its recipients.
 *
 * Where it names several, a stretch belongs to the one that its first line names: to the next line
 * that names another, or to a blank line. What no stretch holds belongs to none of them: words that
 * are attributed wrongly would suppress an address that is well.
 */
import { type Address, localPartOf } from '../../mail/address.js'
import { addressesIn, mailboxPart } from './report-addresses.js'

const MAX_LINE = 2_000
/** Of those who help, not of those who failed. */
const helpers =
  /^(mailer-daemon|postmaster|hostmaster|abuse|support|help|helpdesk|admin\w{0,10}|no-?reply|root|security)$/

/** The lines with the addresses that each of them names, in lower case. */
export type NamedLines = readonly { readonly line: string; readonly names: ReadonlySet<string> }[]

export function namedLines(lines: readonly string[]): NamedLines {
  return lines.map((line) => {
    const read = line.includes('@') && line.length <= MAX_LINE
    return { line, names: new Set(read ? addressesIn(line, 10).map((name) => name.toLowerCase()) : []) }
  })
}

/** Of a recipient among `all` of the report. */
export function linesAbout(lines: NamedLines, recipient: Address, all: ReadonlySet<string>): readonly string[] {
  const own = recipient.toLowerCase()
  const found: string[] = []
  let within = false
  for (const { line, names } of lines) {
    const others = [...names].some((name) => name !== own && all.has(name))
    if (others || line.trim() === '') within = false
    else if (names.has(own)) within = true
    if (within) found.push(line)
  }
  return found
}

/** The server's words name addresses, and none is any of these: they speak of another mailbox. */
export function namesOthersAlone(words: string, own: readonly (Address | null)[]): boolean {
  const named = addressesIn(words, 10).filter((name) => !helpers.test(localPartOf(name).toLowerCase()))
  const mailboxes = own.flatMap((address) => (address === null ? [] : [mailboxOf(address)]))
  return mailboxes.length > 0 && named.length > 0 && !named.some((name) => mailboxes.includes(mailboxOf(name)))
}

/** Without its case, its detail (`bob+shop`), and its domain, which servers further on replace by their own. */
function mailboxOf(address: Address): string {
  return mailboxPart(address).toLowerCase()
}
