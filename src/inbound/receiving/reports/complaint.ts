/**
 * Parses complaints: abuse reports in ARF (RFC 5965, 6591), and the few other forms.
 *
 * ARF is recognized by its part message/feedback-report, or by its fields in another part. Other forms: Apple
 * Mail's answer to List-Unsubscribe (`opt-out`), and a message that is marked as a complaint
 * (X-HmXmrOriginalRecipient of Hotmail's programme, "complaint about message from") and contains the original.
 */
import type { Address } from '../../../base/mail/address.js'
import type { ComplaintReport, ReportedHeader } from './report.js'
import { authorOf, findAddresses, isSameReportedAddress, parseTypedAddress } from './report-addresses.js'
import { firstValueOf, parseFieldGroups } from './report-fields.js'
import type { ReportPart } from './report-parts.js'

const MAX_RECIPIENTS = 50

export function readComplaint(
  header: ReportedHeader,
  parts: readonly ReportPart[],
  reported: ReportedHeader,
): ComplaintReport | null {
  const part = parts.find(({ type, text }) => type === 'message/feedback-report' || hasFeedbackFields(type, text))
  if (part !== undefined) return fromFeedbackFields(parseFieldGroups(part.text).flat(), reported)
  if (firstValueOf(header, 'x-apple-unsubscribe') !== null) {
    const author = authorOf(header)
    return {
      type: 'complaint',
      feedbackType: 'opt-out',
      recipients: author === null ? [] : [author],
      mailFrom: null,
      reported,
    }
  }
  if (reported.length === 0 || !isOtherComplaint(header, reported)) return null
  const to = firstValueOf(reported, 'x-hmxmroriginalrecipient') ?? firstValueOf(header, 'x-hmxmroriginalrecipient')
  return {
    type: 'complaint',
    feedbackType: 'abuse',
    recipients: to === null ? findAddressees(reported) : findAddresses(to, MAX_RECIPIENTS),
    mailFrom: parseTypedAddress(firstValueOf(reported, 'return-path')),
    reported,
  }
}

function hasFeedbackFields(type: string, text: string): boolean {
  return !type.startsWith('message/rfc822') && /^feedback-type[ \t]{0,8}:/im.test(text.slice(0, 8_192))
}

/** Subjects of Hotmail's junk programme, and of providers that forward with a new subject. */
function isOtherComplaint(header: ReportedHeader, reported: ReportedHeader): boolean {
  if (firstValueOf(reported, 'x-hmxmroriginalrecipient') !== null) return true
  const subject = firstValueOf(header, 'subject') ?? ''
  return /^\s{0,40}(complaint about message from|email feedback report for ip|fw: \[?spam complaint)/i.test(subject)
}

function fromFeedbackFields(fields: ReportedHeader, reported: ReportedHeader): ComplaintReport {
  const named = fields
    .filter(({ name }) =>
      /^(original-rcpt-to|original-recipient|removal-recipient|x-original-rcpt-to|redacted-address)$/.test(name),
    )
    .flatMap(({ value }) => parseTypedAddress(value) ?? [])
  const recipients: Address[] = []
  for (const address of named) {
    if (recipients.length === MAX_RECIPIENTS) break
    if (isRedacted(address)) continue
    if (!recipients.some((known) => isSameReportedAddress(known, address))) recipients.push(address)
  }
  const mailFrom =
    parseTypedAddress(firstValueOf(fields, 'original-mail-from')) ??
    parseTypedAddress(firstValueOf(reported, 'return-path'))
  return {
    type: 'complaint',
    feedbackType: /[a-z][\w-]{0,60}/i.exec(firstValueOf(fields, 'feedback-type') ?? '')?.[0]?.toLowerCase() ?? 'other',
    recipients: recipients.length > 0 ? recipients : findAddressees(reported),
    mailFrom,
    reported,
  }
}

/** The recipients in the original's own header. AOL and others omit the field, or redact its address. */
function findAddressees(reported: ReportedHeader): readonly Address[] {
  for (const name of ['x-original-to', 'delivered-to', 'x-apparently-to', 'x-rcpt-to', 'to']) {
    const found = findAddresses(firstValueOf(reported, name) ?? '', MAX_RECIPIENTS).filter((one) => !isRedacted(one))
    if (found.length > 0) return found
  }
  return []
}

function isRedacted(address: Address): boolean {
  return /^\W{0,8}(redacted|removed|hidden|suppressed|undisclosed)\b/i.test(address)
}
