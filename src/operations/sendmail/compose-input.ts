/** Makes a message for SMTP of what a program writes to sendmail: line ends, the end of the input, a missing header. Pure. */

import type { Address } from '../../base/mail/address.js'
import { findFields, readFieldValue, scanHeaderOrEmpty, spliceHeader } from '../../base/mail/header-fields.js'
import { withCrlf } from '../../base/mail/line-ends.js'
import { isUnambiguous, parseMailboxList, truncateList } from '../../base/mail/mailbox-list.js'
import { writeNamedAddress } from '../../base/mail/named-address.js'

/** Ends the input at a line with only a dot, unless `ignoresDots`. A text without a header gets an empty one. */
export function readInput(input: Buffer, ignoresDots: boolean): Buffer {
  const lines = withCrlf(withoutMailboxLine(input))
  const end = ignoresDots ? -1 : findDotLine(lines)
  const raw = end === -1 ? lines : lines.subarray(0, end)
  const hasHeader = scanHeaderOrEmpty(raw).fields.length > 0 || raw.subarray(0, 2).toString('latin1') === '\r\n'
  return hasHeader ? raw : Buffer.concat([Buffer.from('\r\n'), raw])
}

function withoutMailboxLine(input: Buffer): Buffer {
  return input.toString('latin1', 0, 5) === 'From ' ? input.subarray(input.indexOf('\n') + 1 || input.length) : input
}

function findDotLine(lines: Buffer): number {
  if (lines.subarray(0, 3).toString('latin1') === '.\r\n') return 0
  const at = lines.indexOf('\r\n.\r\n')
  return at === -1 ? -1 : at + 2
}

/** The addresses and names in To, Cc and Bcc. */
export function findRecipients(raw: Buffer): readonly string[] {
  const header = scanHeaderOrEmpty(raw)
  const values = ['to', 'cc', 'bcc'].flatMap((name) => findFields(header, name).map((one) => readFieldValue(raw, one)))
  return values.flatMap((value) => splitList(value).flatMap((part) => readMailboxes(part)))
}

/** A list may be longer than the parser reads at once. */
function splitList(value: string): readonly string[] {
  const parts: string[] = []
  for (let rest = value; rest !== ''; ) {
    const part = truncateList(rest) || rest
    parts.push(part)
    rest = rest.slice(part.length).replace(/^,/, '')
    if (part.length > MAX_PART) break
  }
  return parts.filter((part) => part.length <= MAX_PART)
}

const MAX_PART = 8_192

function readMailboxes(part: string): readonly string[] {
  return parseMailboxList(part).flatMap(({ address, name }) => {
    if (address !== null) return [address]
    return /^[\w.+-]{1,64}$/.test(name) ? [name] : []
  })
}

/**
 * Adds a From field if the message has none with an address. Programs write names of the machine: `root (Cron Daemon)`
 * becomes the address with the name `Cron Daemon`.
 */
export function addFrom(raw: Buffer, address: Address, name: string): Buffer {
  const header = scanHeaderOrEmpty(raw)
  const fields = findFields(header, 'from')
  const values = fields.map((field) => readFieldValue(raw, field, MAX_PART))
  if (values.some((value) => parseMailboxList(value).some((author) => author.address !== null))) return raw
  const plainName = (name || (/^[^()]{1,64}\(([^()]{1,200})\)$/.exec(values[0] ?? '')?.[1] ?? ''))
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200)
  const written = writeNamedAddress({ address, name: plainName })
  const from = isUnambiguous(written) ? written : address
  return spliceHeader(raw, header, { remove: fields, prepend: `From: ${from}\r\n` })
}
