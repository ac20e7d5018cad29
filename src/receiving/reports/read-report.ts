/**
 * What comes back at a return path or a feedback address, read into a value.
 *
 * Looked for in this order: a complaint (ARF), a read receipt (RFC 8098; an automatic
 * answer), a delivery status that machines read, a notification of Amazon SES, a vacation note that
 * says so, a report that another message brings along whole, a bounce in words, any other automatic
 * answer. Pure; never throws, whatever the bytes; its time is that of a few passes over at most a megabyte.
 *
 * A report is a stranger's claim: whom it may speak of, the return path's token decides.
 */
import type { Address } from '../../mail/address.js'
import { decodeHeaderText } from '../../mail/header-text.js'
import { blockElements } from '../../mail/html/elements.js'
import { readHtml } from '../../mail/html/read-html.js'
import { isAutomatic, isVacation } from './auto-reply.js'
import { readComplaint } from './complaint.js'
import { hasDeliveryStatus, type ProseLookup, readDeliveryStatus } from './delivery-status.js'
import { readProseBounces, splitReturnedMessage } from './prose.js'
import { daemonSender } from './prose-patterns.js'
import { sectionsOf } from './recipient-sections.js'
import type { BounceReport, Report, ReportedHeader } from './report.js'
import { findAddresses } from './report-addresses.js'
import { firstValueOf, parseHeader } from './report-fields.js'
import { type ParsedReport, parseReport, type ReportPart } from './report-parts.js'
import { readSesNotification } from './ses-notification.js'

const MAX_PROSE = 1_500
/** Reports within a message within a message. */
const MAX_NESTED = 2
const MAX_ATTACHED = 5

const returnedTypes: ReadonlySet<string> = new Set([
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'text/rfc822-header',
  'message/rfc822-headers',
  'message/global-headers',
])

const nestedTypes: ReadonlySet<string> = new Set(['message/rfc822', 'message/global'])

export function readReport(raw: Buffer): Report {
  return readParsedReport(parseReport(raw))
}

/** `depth`: how many messages this report is nested in. */
export function readParsedReport({ header, parts }: ParsedReport, depth = 0): Report {
  const told = parts.filter(({ type }) => !returnedTypes.has(type))
  const { words, returned } = splitReturnedMessage(textOf(told))
  const attached = parts.find(({ type }) => returnedTypes.has(type))
  const reported = parseHeader((attached?.text ?? returned).trimStart())
  return (
    readComplaint(header, told, reported) ??
    (told.some(({ type }) => type === 'message/disposition-notification') ? ({ type: 'auto-reply' } as const) : null) ??
    readStatusReport(told, words, reported) ??
    readSesNotification(textOf(told)) ??
    (isVacation(header) && !isFromMailSystem(header) ? ({ type: 'auto-reply' } as const) : null) ??
    readNestedReport(parts, depth) ??
    readProseReport(header, words, reported) ?? { type: isAutomatic(header) ? 'auto-reply' : 'other' }
  )
}

function readStatusReport(told: readonly ReportPart[], words: string, reported: ReportedHeader): BounceReport | null {
  const part =
    told.find(({ type, text }) => /delivery-status$/.test(type) && text.trim() !== '' && hasStatusFields(text)) ??
    told.find(({ text }) => hasDeliveryStatus(text))
  if (part === undefined) return null
  const { bounces, envid } = readDeliveryStatus(part.text, (all) => createProseLookup(all, words))
  return bounces.length === 0 ? null : { type: 'bounce', bounces, envid, reported }
}

/** A message that calls itself a report, as gateways and people pass it on. */
function readNestedReport(parts: readonly ReportPart[], depth: number): Report | null {
  if (depth === MAX_NESTED) return null
  for (const { text } of parts.filter(({ type }) => nestedTypes.has(type)).slice(0, MAX_ATTACHED)) {
    const type = firstValueOf(parseHeader(text.trimStart()), 'content-type') ?? ''
    const report = /^\s{0,8}multipart\/report\b/i.test(type)
      ? readParsedReport(parseReport(Buffer.from(text.trimStart())), depth + 1)
      : null
    if (report?.type === 'bounce' || report?.type === 'complaint') return report
  }
  return null
}

/** Of several recipients each one's own; of one, from the line that names it on, or all of them where none does. */
function createProseLookup(all: readonly Address[], words: string): ProseLookup {
  if (new Set(all.map((name) => name.toLowerCase())).size > 1) {
    const sections = sectionsOf(words.split('\n'), all)
    return (recipient) => (sections.get(recipient?.toLowerCase() ?? '') ?? []).join(' ').slice(0, MAX_PROSE)
  }
  return (recipient) => {
    const at = recipient === null ? -1 : words.toLowerCase().lastIndexOf(recipient.toLowerCase())
    return words.slice(Math.max(at, 0), Math.max(at, 0) + MAX_PROSE)
  }
}

function hasStatusFields(text: string): boolean {
  return /^[ \t]{0,8}(final-recipient|original-recipient|action|status)[ \t]{0,8}:/im.test(text)
}

function readProseReport(header: ReportedHeader, words: string, reported: ReportedHeader): BounceReport | null {
  const addressesOf = (fields: ReportedHeader, ...names: readonly string[]): readonly Address[] =>
    names.flatMap((name) => findAddresses(firstValueOf(fields, name) ?? '', 20))
  const bounces = readProseBounces({
    subject: decodeHeaderText(firstValueOf(header, 'subject') ?? '', 300),
    from: decodeHeaderText(firstValueOf(header, 'from') ?? '', 300),
    failed: addressesOf(header, 'x-failed-recipients'),
    words,
    senders: [...addressesOf(header, 'to'), ...addressesOf(reported, 'return-path', 'from', 'x-envelope-from')],
    addressees: addressesOf(reported, 'x-envelope-to', 'delivered-to', 'x-original-to', 'to'),
  })
  return bounces === null ? null : { type: 'bounce', bounces, envid: null, reported }
}

function isFromMailSystem(header: ReportedHeader): boolean {
  return daemonSender.test(firstValueOf(header, 'from') ?? '') || firstValueOf(header, 'x-failed-recipients') !== null
}

/** What the report tells people; of HTML alone, its text. */
function textOf(told: readonly ReportPart[]): string {
  const plain = told.filter(({ type }) => type.startsWith('text/') && type !== 'text/html')
  const chosen = plain.some(({ text }) => text.trim() !== '') ? plain : told.filter(({ type }) => type === 'text/html')
  return chosen.map(({ type, text }) => (type === 'text/html' ? textOfReportHtml(text) : text)).join('\n')
}

/** Words for people. An address in angle brackets that nobody escaped looks like a tag and is kept. */
function textOfReportHtml(html: string): string {
  const pieces: string[] = []
  readHtml(html, {
    onOpenTag({ name, start, end }) {
      if (name.includes('@')) pieces.push(html.slice(start, end))
      else pieces.push(blockElements.has(name) ? '\n' : ' ')
    },
    onCloseTag: () => void pieces.push(' '),
    onText: (text) => void pieces.push(text),
    onComment: () => void pieces.push(' '),
  })
  return pieces.join('')
}
