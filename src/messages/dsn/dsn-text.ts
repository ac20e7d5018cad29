/** The part of a DSN that people read. */
import { fieldsNamed, fieldValue, scanHeader } from '../../mail/header-fields.js'
import { headerText } from '../../mail/header-text.js'
import { messageDate } from '../../mail/message-date.js'
import { type DsnKind, type DsnRecipient, type DsnReport, oneLine, wrapped } from './dsn-report.js'

const opening: Record<DsnKind, string> = {
  failed: 'could not be delivered to:',
  delayed: 'has not been delivered yet to:',
  success: 'has been passed on to:',
}

const MAX_SUBJECT = 200

export function dsnSubject({ kind, recipients }: DsnReport): string {
  if (kind === 'failed') return 'Your message could not be delivered'
  if (kind === 'delayed') return 'Your message is delayed'
  const delivered = recipients.every(({ action }) => action === 'delivered')
  return delivered ? 'Your message was delivered' : 'Your message was passed on'
}

/** Lines of at most 76 characters (longer words alone), CRLF ends. `attached`: what follows in the report. */
export function dsnText(report: DsnReport, attached: 'message' | 'header'): string {
  const { kind, reportingMta, arrivedAt, recipients } = report
  const date = messageDate(arrivedAt)
  const lines = [
    `This is the mail server ${reportingMta}.`,
    '',
    ...wrapped(`Your message${quotedSubject(report)} of ${date} ${opening[kind]}`, ''),
    '',
    ...recipients.flatMap((recipient) => [...about(recipient), '']),
    ...wrapped(closing(report), ''),
    '',
    attached === 'message' ? 'The message is attached.' : 'The header of the message is attached.',
  ]
  return `${lines.join('\r\n')}\r\n`
}

function about({ address, action, reason, diagnostic, remoteMta }: DsnRecipient): readonly string[] {
  const said = diagnostic === null ? '' : oneLine(diagnostic)
  return [
    `  ${address}`,
    ...wrapped(oneLine(reason), '      '),
    ...(action === 'relayed' ? wrapped('The server that has it now sends no delivery reports.', '      ') : []),
    ...(said === '' ? [] : wrapped(remoteMta === null ? said : `${oneLine(remoteMta)} answered: ${said}`, '      ')),
  ]
}

function closing({ kind, recipients }: DsnReport): string {
  if (kind === 'failed') return 'No further attempt will be made.'
  if (kind === 'success') return 'You asked for this report when you sent the message.'
  const until = Math.max(...recipients.map(({ willRetryUntil }) => willRetryUntil ?? 0))
  const limit = until > 0 ? ` until ${messageDate(until)}` : ''
  return `Delivery will be tried again${limit}. You need not send the message again.`
}

function quotedSubject({ original }: DsnReport): string {
  const field = fieldsNamed(scanHeader(original), 'subject')[0]
  const subject = field === undefined ? '' : oneLine(headerText(fieldValue(original, field)))
  if (subject === '') return ''
  const chars = [...subject]
  return ` "${chars.length > MAX_SUBJECT ? `${chars.slice(0, MAX_SUBJECT).join('')}...` : subject}"`
}
