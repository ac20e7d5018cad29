/**
 * Reads what comes to a return path or a feedback address.
 *
 * In this order it looks for a complaint (ARF), a read receipt (RFC 8098; an automatic reply), a delivery status
 * in machine-readable form, a notification of Amazon SES, a vacation note that is marked so, a report attached as
 * a message, a challenge to the sender, a bounce in prose, any other automatic reply. Pure; never throws, whatever the bytes; its time is
 * that of a few passes over at most a megabyte.
 *
 * A report is an unauthenticated claim: the token of the return path decides whom it may concern.
 */
import type { Address } from '../../../base/mail/address.js'
import { decodeHeaderText } from '../../../base/mail/header-text.js'
import { blockElements } from '../../../base/mail/html/elements.js'
import { readHtml } from '../../../base/mail/html/read-html.js'
import { isAutomatic, isChallenge, isVacation } from './auto-reply.js'
import { readComplaint } from './complaint.js'
import { hasDeliveryStatus, type ProseLookup, readDeliveryStatus } from './delivery-status.js'
import { readProseBounces, splitReturnedMessage } from './prose.js'
import { daemonSender } from './prose-patterns.js'
import { sectionsOf } from './recipient-sections.js'
import type { BounceReport, Report, ReportedHeader } from './report.js'
import { findAddresses } from './report-addresses.js'
import { firstValueOf, parseHeader } from './report-fields.js'
import { type ParsedReport, parseReport, type ReportPart } from './report-parts.js'
import { ownWordsOf } from './report-subject.js'
import { readSesNotification } from './ses-notification.js'

const MAX_PROSE = 1_500
/** Depth of reports nested in messages. */
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

/** `depth` says how many messages this report is nested in. */
export function readParsedReport({ header, parts }: ParsedReport, depth = 0): Report {
  const ownParts = parts.filter(({ type }) => !returnedTypes.has(type))
  const { words, returned } = splitReturnedMessage(textOf(ownParts))
  const attached = parts.find(({ type }) => returnedTypes.has(type))
  const reported = parseHeader((attached?.text ?? returned).trimStart())
  return (
    readComplaint(header, ownParts, reported) ??
    (ownParts.some(({ type }) => type === 'message/disposition-notification')
      ? ({ type: 'auto-reply' } as const)
      : null) ??
    readStatusReport(ownParts, words, reported) ??
    readSesNotification(textOf(ownParts)) ??
    (isVacation(header) && !isFromMailSystem(header) ? ({ type: 'auto-reply' } as const) : null) ??
    readNestedReport(parts, depth) ??
    (!isFromMailSystem(header) && isChallenge(header, words) ? ({ type: 'auto-reply' } as const) : null) ??
    readProseReport(header, words, reported) ?? { type: isAutomatic(header) ? 'auto-reply' : 'other' }
  )
}

function readStatusReport(
  ownParts: readonly ReportPart[],
  words: string,
  reported: ReportedHeader,
): BounceReport | null {
  const part =
    ownParts.find(({ type, text }) => /delivery-status$/.test(type) && text.trim() !== '' && hasStatusFields(text)) ??
    ownParts.find(({ text }) => hasDeliveryStatus(text))
  if (part === undefined) return null
  const { bounces, envid } = readDeliveryStatus(part.text, (all) => createProseLookup(all, words))
  return bounces.length === 0 ? null : { type: 'bounce', bounces, envid, reported }
}

/** A message that declares itself a report, as gateways and people forward it. */
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

/**
 * If there are several recipients, the text about each; if there is one, the text from the line that names it on,
 * or all text.
 */
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
    subject: ownWordsOf(subjectOf(header), subjectOf(reported)),
    from: decodeHeaderText(firstValueOf(header, 'from') ?? '', 300),
    failed: addressesOf(header, 'x-failed-recipients'),
    words,
    senders: [...addressesOf(header, 'to'), ...addressesOf(reported, 'return-path', 'from', 'x-envelope-from')],
    addressees: addressesOf(reported, 'x-envelope-to', 'delivered-to', 'x-original-to', 'to'),
  })
  return bounces === null ? null : { type: 'bounce', bounces, envid: null, reported }
}

function subjectOf(fields: ReportedHeader): string {
  return decodeHeaderText(firstValueOf(fields, 'subject') ?? '', 300)
}

function isFromMailSystem(header: ReportedHeader): boolean {
  return daemonSender.test(firstValueOf(header, 'from') ?? '') || firstValueOf(header, 'x-failed-recipients') !== null
}

/** The report's prose; of HTML if there is no plain text. */
function textOf(ownParts: readonly ReportPart[]): string {
  const plain = ownParts.filter(({ type }) => type.startsWith('text/') && type !== 'text/html')
  const chosen = plain.some(({ text }) => text.trim() !== '')
    ? plain
    : ownParts.filter(({ type }) => type === 'text/html')
  return chosen.map(({ type, text }) => (type === 'text/html' ? textOfReportHtml(text) : text)).join('\n')
}

/** The text of HTML. An address in angle brackets that is not escaped looks like a tag and is kept. */
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
