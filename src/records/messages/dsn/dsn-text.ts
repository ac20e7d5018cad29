/** Writes the human-readable part of a DSN. */
import { findFields, readFieldValue, scanHeader } from '../../../base/mail/header-fields.js'
import { decodeHeaderText } from '../../../base/mail/header-text.js'
import { formatMessageDate } from '../../../base/mail/message-date.js'
import { toOneLine } from '../../../base/mail/printable.js'
import { type DsnKind, type DsnRecipient, type DsnReport, wrapText } from './dsn-report.js'

const openings: Record<DsnKind, string> = {
  failed: 'could not be delivered to:',
  delayed: 'has not been delivered yet to:',
  success: 'was passed on to the next server for:',
}

const MAX_SUBJECT = 200

export function formatDsnSubject({ kind, recipients }: DsnReport): string {
  if (kind === 'failed') return 'Your message could not be delivered'
  if (kind === 'delayed') return 'Your message is delayed'
  const delivered = recipients.every(({ action }) => action === 'delivered')
  return delivered ? 'Your message was delivered' : 'Your message was passed on'
}

/**
 * Returns lines of at most 76 characters (a longer word has a whole line) with CRLF line ends. `attached` says
 * what follows in the report.
 */
export function formatDsnText(report: DsnReport, attached: 'message' | 'header'): string {
  const { kind, reportingMta, arrivedAt, recipients } = report
  const date = formatMessageDate(arrivedAt)
  const lines = [
    `This is the mail server ${reportingMta}.`,
    '',
    ...wrapText(`Your message${quoteSubject(report)} of ${date} ${openings[kind]}`, ''),
    '',
    ...recipients.flatMap((recipient) => [...describeRecipient(recipient), '']),
    ...wrapText(formatClosing(report), ''),
    '',
    attached === 'message' ? 'The message is attached.' : 'The header of the message is attached.',
  ]
  return `${lines.join('\r\n')}\r\n`
}

function describeRecipient({ address, action, reason, diagnostic, remoteMta }: DsnRecipient): readonly string[] {
  const said = diagnostic === null ? '' : toOneLine(diagnostic)
  return [
    `  ${address}`,
    ...wrapText(toOneLine(reason), '      '),
    ...(action === 'relayed' ? wrapText('That server sends no delivery reports.', '      ') : []),
    ...(said === '' ? [] : wrapText(remoteMta === null ? said : `${toOneLine(remoteMta)} answered: ${said}`, '      ')),
  ]
}

function formatClosing({ kind, recipients }: DsnReport): string {
  if (kind === 'failed') return 'The server will not try again.'
  if (kind === 'success') return 'You asked for this report when you sent the message.'
  const until = Math.max(...recipients.map(({ willRetryUntil }) => willRetryUntil ?? 0))
  const limit = until > 0 ? ` until ${formatMessageDate(until)}` : ''
  return `The server will try again${limit}. You do not need to send the message again.`
}

function quoteSubject({ original }: DsnReport): string {
  const field = findFields(scanHeader(original), 'subject')[0]
  const subject = field === undefined ? '' : toOneLine(decodeHeaderText(readFieldValue(original, field)))
  if (subject === '') return ''
  const chars = [...subject]
  return ` "${chars.length > MAX_SUBJECT ? `${chars.slice(0, MAX_SUBJECT).join('')}...` : subject}"`
}
