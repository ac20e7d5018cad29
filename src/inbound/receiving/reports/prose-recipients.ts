/**
 * Finds the recipients of a bounce in prose, each with the lines about it.
 *
 * Order of trust: a line that begins with the address, or names it after "to" and the like; the header field that
 * lists failed recipients; any other address; the recipients of the returned message. Senders and mail systems
 * count only if there is no other address.
 */
import type { Address } from '../../../base/mail/address.js'
import { sectionsOf } from './recipient-sections.js'
import { findAddresses, isSameReportedAddress } from './report-addresses.js'

export interface ProseReport {
  /** The subject without what it quotes (`ownWordsOf`). */
  readonly subject: string
  readonly from: string
  /** X-Failed-Recipients, as written by Exim, Gmail and others. */
  readonly failed: readonly Address[]
  /** The text without the returned message. */
  readonly words: string
  /** Addresses that cannot be the failed recipient: the report's recipient and the message's sender. */
  readonly senders: readonly Address[]
  /** Recipients of the returned message. */
  readonly addressees: readonly Address[]
}

interface ProseRecipient {
  readonly recipient: Address
  /** The address before an alias or a forward, if the report names it too. */
  readonly original: Address | null
  readonly section: readonly string[]
}

type Sections = ReadonlyMap<string, readonly string[]>

interface Mention {
  readonly address: Address
  readonly line: number
  readonly strong: boolean
}

const MAX_RECIPIENTS = 50
const MAX_SECTION = 20

const addressLead = /^[\s>*+•·-]{0,20}([45]\d\d )?["']?<?$/
const recipientLead =
  /(\b(to|for|recipients?|addressee|address(es)?|user(id)?|mailbox|size|account|failed|following|rcpt to)\b[^@]{0,12}[:\s]["'<(\s]{0,4}|宛先\S{0,6}\s?|rcpt to:\s?<)$/i
/** The line that announces a list; what precedes it quotes the message. */
const listOpening =
  /\b(following|these) (recipient|address|e-?mail|user|mailbox)|(recipient|address)\S{0,8} failed\b|did not reach/i
const otherContext =
  /\b(from|sender|by|contact|reply[- ]to|message-id|generated (from|by)|please|help|assistance|postmaster at)\b[^@]{0,40}$/i
const systemSender = /^(mailer-daemon|postmaster|mail-?daemon|no-?reply|abuse|root|support)@/i

export function findRecipients(lines: readonly string[], report: ProseReport): readonly ProseRecipient[] {
  const mentions = lines.flatMap((line, index) => findMentions(line, index)).slice(0, 200)
  const includesAddress = (list: readonly Address[], address: Address): boolean =>
    list.some((one) => isSameReportedAddress(one, address))
  const mayBe = mentions.filter(
    ({ address }) => !includesAddress(report.senders, address) && !systemSender.test(address),
  )
  const begin = lines.findIndex((line) => listOpening.test(line))
  const strong = mayBe.filter((mention) => mention.strong)
  const addressLines = strong.filter(({ line }) => begin !== -1 && line >= begin)
  const inHeader = report.failed.map((address) => mentionOf(address, mentions))
  const addressed = mayBe.filter(({ address }) => includesAddress(report.addressees, address))
  const last = mentions.filter((mention) => mention.strong && !includesAddress(report.senders, mention.address))
  const own = mentions.filter((mention) => mention.strong)
  const returned = report.addressees.map((address) => mentionOf(address, mentions))
  const choices = [inHeader, addressLines, strong, addressed, mayBe, last, returned.slice(0, 1), own]
  const chosen = dedupeMentions(choices.find((choice) => choice.length > 0) ?? []).slice(0, MAX_RECIPIENTS)
  const sections =
    chosen.length > 1
      ? sectionsOf(
          lines,
          chosen.map(({ address }) => address),
        )
      : null
  return chosen.map((mention) => withSection(mention, lines, sections))
}

/** Where the text mentions the address, in any case. -1 if it does not. */
function mentionOf(address: Address, mentions: readonly Mention[]): Mention {
  const line = mentions.find((mention) => isSameReportedAddress(mention.address, address))?.line ?? -1
  return { address, line, strong: true }
}

function findMentions(line: string, index: number): readonly Mention[] {
  if (line.length > 2_000 || !line.includes('@')) return []
  return findAddresses(line, 10).flatMap((address) => {
    const before = line.slice(
      0,
      Math.max(line.toLowerCase().indexOf(address.toLowerCase().slice(0, address.lastIndexOf('@'))), 0),
    )
    if (/^\s{0,40}(message-id|from|x-[\w-]{1,40}|references|subject)\s*:/i.test(line) || otherContext.test(before))
      return []
    return [{ address, line: index, strong: addressLead.test(before) || recipientLead.test(before) }]
  })
}

function dedupeMentions(mentions: readonly Mention[]): readonly Mention[] {
  return mentions.filter(
    ({ address }, index) => mentions.findIndex((other) => isSameReportedAddress(other.address, address)) === index,
  )
}

/** For a single recipient, the text from its line on; for several, the lines about each. */
function withSection({ address, line }: Mention, lines: readonly string[], sections: Sections | null): ProseRecipient {
  if (line === -1) return { recipient: address, original: null, section: [] }
  const about = sections === null ? lines.slice(line) : (sections.get(address.toLowerCase()) ?? [])
  const section = about.slice(0, MAX_SECTION)
  const from = /\bgenerated (?:from|by) (\S{1,320})/i.exec(section.slice(0, 3).join(' '))?.[1] ?? ''
  return { recipient: address, original: findAddresses(from, 1)[0] ?? null, section }
}
