/** Writes times, numbers and sizes in the browser's locale. The words are English, like the pages. */

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const second = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const number = new Intl.NumberFormat()
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

export function formatDateTime(iso: string): string {
  return formatWhole(dateTime, iso)
}

/** Keeps a line from breaking before the `PM` of a time. */
function formatWhole(format: Intl.DateTimeFormat, iso: string): string {
  const parts = format.formatToParts(new Date(iso))
  return parts.map(({ value }, at) => (parts[at + 1]?.type === 'dayPeriod' ? '\u00A0' : value)).join('')
}

/** Writes the time with seconds. */
export function formatSecond(iso: string): string {
  return formatWhole(second, iso)
}

export function formatDay(iso: string): string {
  return day.format(new Date(iso))
}

/** `2026-03-04 05:06:07 UTC`. */
export function formatUtc(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Turns `the host does not exist` into `The host does not exist`. */
export function capitalize(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}

export function formatNumber(value: number): string {
  return number.format(value)
}

/** Formats a share between 0 and 1. */
export function formatPercent(share: number): string {
  return percent.format(share)
}

const smallPercent = new Intl.NumberFormat(undefined, { style: 'percent', maximumSignificantDigits: 2 })

/** Formats a share of which a tenth of a percent is much. */
export function formatSmallPercent(share: number): string {
  return smallPercent.format(share)
}

const units: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** `5 minutes ago`, `in 2 hours`. */
export function formatRelative(iso: string, now: number): string {
  const seconds = (new Date(iso).getTime() - now) / 1_000
  const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
  return relative.format(Math.trunc(seconds / length), unit)
}

const sizes = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte']

/** A kilobyte has 1,024 bytes, as in limits and on the command line. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(sizes.length - 1, Math.floor(Math.log2(bytes) / 10))
  const unit = sizes[power] ?? 'byte'
  // The short form has no plural of bytes in English.
  const unitDisplay = unit === 'byte' ? 'long' : 'short'
  const options = { style: 'unit', unit, unitDisplay, maximumFractionDigits: 1 } as const
  return new Intl.NumberFormat(undefined, options).format(bytes / 1_024 ** power)
}
