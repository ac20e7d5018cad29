/**
 * The part of a DSN that machines read: message/delivery-status (RFC 3464 section 2),
 * or message/global-delivery-status where an address is not ASCII (RFC 6533 section 4).
 *
 * Whatever a remote server said stays inside its field: it is put on one line, folded
 * by us, and in the ASCII form every other character becomes a question mark.
 */
import { needsUtf8 } from '../../mail/address.js'
import { messageDate } from '../../mail/message-date.js'
import { type DsnRecipient, type DsnReport, oneLine, wrapped } from './dsn-report.js'

export interface DeliveryStatus {
  readonly type: 'message/delivery-status' | 'message/global-delivery-status'
  /** Groups of fields, CRLF ends. */
  readonly text: string
}

export function deliveryStatus(report: DsnReport): DeliveryStatus {
  const { envid, reportingMta, arrivedAt, recipients } = report
  const global = recipients.some(({ address, orcpt }) => needsUtf8(address) || !isPrintable(orcpt ?? ''))
  const field: WriteField = (name, value) => (value === null ? '' : written(name, value, global))
  const groups = [
    field('Original-Envelope-Id', envid) +
      field('Reporting-MTA', `dns; ${reportingMta}`) +
      field('Arrival-Date', messageDate(arrivedAt)),
    ...recipients.map((recipient) => recipientFields(recipient, field)),
  ]
  return { type: global ? 'message/global-delivery-status' : 'message/delivery-status', text: groups.join('\r\n') }
}

type WriteField = (name: string, value: string | null) => string

function recipientFields(recipient: DsnRecipient, field: WriteField): string {
  const { address, orcpt, action, status, diagnostic, remoteMta, lastAttemptAt, willRetryUntil } = recipient
  const spoken = remoteMta === null ? 'x-posthorn' : 'smtp'
  return [
    field('Original-Recipient', orcpt),
    field('Final-Recipient', `${needsUtf8(address) ? 'utf-8' : 'rfc822'}; ${address}`),
    field('Action', action),
    field('Status', status),
    field('Remote-MTA', remoteMta === null ? null : `dns; ${remoteMta}`),
    field('Diagnostic-Code', diagnostic === null ? null : `${spoken}; ${diagnostic}`),
    field('Last-Attempt-Date', lastAttemptAt === null ? null : messageDate(lastAttemptAt)),
    field('Will-Retry-Until', willRetryUntil === null || action !== 'delayed' ? null : messageDate(willRetryUntil)),
  ].join('')
}

function written(name: string, value: string, global: boolean): string {
  const line = oneLine(value)
  const text = global ? line : line.replace(/[^\x20-\x7e]/gu, '?')
  return `${wrapped(`${name}: ${text}`, ' ').join('\r\n').slice(1)}\r\n`
}

function isPrintable(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}
