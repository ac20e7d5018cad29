/** Brings values of reports from outside into one form. A value that does not have this form becomes empty. */
import { tryParseDomainName } from '../../../base/mail/address.js'
import { toPrintableText } from '../../../base/mail/printable.js'
import { parseIpAddress } from '../../../base/platform/ip-address.js'

const MAX_WORD = 40
const MAX_LABEL = 255
/** Milliseconds of a time in the year 2100. */
const MAX_TIME = 4_102_444_800_000

/** A word of a closed vocabulary, as `pass` or `certificate-expired`. */
export function toWord(text: string): string {
  const word = text.trim().toLowerCase()
  return word.length <= MAX_WORD && /^[a-z0-9_-]+$/.test(word) ? word : ''
}

export function toDomainText(text: string): string {
  const given = text.trim()
  return given.length > 300 ? '' : (tryParseDomainName(given.replace(/\.$/, '')) ?? '')
}

export function toAddressText(text: string): string {
  const given = text.trim()
  return given.length > 64 ? '' : (parseIpAddress(given)?.toString() ?? '')
}

/** Puts text of people and programs on one line. */
export function toLabel(text: string): string {
  return toPrintableText(text.slice(0, 4 * MAX_LABEL))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_LABEL)
}

/** Null if no number that a count or a time could be. */
export function toCount(text: string): number | null {
  const given = text.trim()
  return /^\d{1,12}$/.test(given) ? Number(given) : null
}

/** Milliseconds, or null if no time, or none that a report can name. */
export function toTime(milliseconds: number | null): number | null {
  return milliseconds !== null && milliseconds > 0 && milliseconds <= MAX_TIME ? Math.floor(milliseconds) : null
}
