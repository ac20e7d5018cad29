/**
 * Builds the mail that contains a report: multipart/report with a text for people and the compressed JSON (RFC 8460
 * sections 5.1 and 5.3).
 *
 * It is mail of the service: charged to no workspace, sent from the null return path, and signed with the service's
 * key. The record of that key has no service type, so it is valid for reports (section 3). `TLS-Required: No` (RFC
 * 8689) lets the mail arrive although TLS is what fails.
 */
import { createHash } from 'node:crypto'
import type { Address } from '../../../base/mail/address.js'
import { formatMessageDate } from '../../../base/mail/message-date.js'
import { createMessageId } from '../../../base/mail/message-id.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import { enqueueServiceEmail, type ServiceNotice, type ServiceSender } from '../../../records/messages/service-email.js'
import { periodOf, type Reporter, type ReportSubject, reportIdOf } from './build-report.js'

const base64Line = /.{1,76}/g

interface ReportMail {
  readonly subject: ReportSubject
  readonly reporter: Reporter
  readonly to: Address
  /** The report in JSON, compressed with gzip. */
  readonly compressed: Buffer
}

export function composeReportMail({ hostname, mailFrom }: ServiceSender, mail: ReportMail, now: number): ServiceNotice {
  const { reporter, to } = mail
  const id = uuidv7(now)
  const messageId = createMessageId(id, hostname)
  const subject = formatSubject(mail.subject, reporter)
  const boundary = `=_${createHash('sha256').update(messageId).digest('hex').slice(0, 32)}`
  const header = [
    `From: <${mailFrom}>`,
    `To: <${to}>`,
    // The line is folded, because domains may be long.
    `Subject: ${subject.replace(' Submitter:', '\r\n Submitter:').replace(' Report-ID:', '\r\n Report-ID:')}`,
    `Date: ${formatMessageDate(now)}`,
    `Message-ID: ${messageId}`,
    `TLS-Report-Domain: ${mail.subject.domain}`,
    `TLS-Report-Submitter: ${reporter.submitter}`,
    'TLS-Required: No',
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type="tlsrpt";\r\n boundary="${boundary}"`,
    '',
  ]
  const raw = Buffer.from([...header, ...buildParts(mail, boundary)].join('\r\n'))
  return enqueueServiceEmail({ id, messageId, from: mailFrom, to, subject, now }, raw)
}

function buildParts({ subject, reporter, compressed }: ReportMail, boundary: string): readonly string[] {
  return [
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    formatText(subject, reporter),
    `--${boundary}`,
    'Content-Type: application/tlsrpt+gzip',
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: attachment;\r\n filename="${fileNameOf(subject, reporter)}"`,
    '',
    ...(compressed.toString('base64').match(base64Line) ?? []),
    `--${boundary}--`,
    '',
  ]
}

function formatSubject(subject: ReportSubject, reporter: Reporter): string {
  const id = reportIdOf(subject, reporter)
  return `Report Domain: ${subject.domain} Submitter: ${reporter.submitter} Report-ID: <${id}>`
}

/** Returns the file name of RFC 8460 section 5.1. Its times are Unix times. */
function fileNameOf({ day, domain }: ReportSubject, { submitter }: Reporter): string {
  const { begin, end } = periodOf(day)
  return `${submitter}!${domain}!${begin / 1_000}!${end / 1_000}.json.gz`
}

function formatText({ day, domain }: ReportSubject, { submitter, contact }: Reporter): string {
  return [
    `This is an aggregate TLS report (RFC 8460) from ${submitter}`,
    `about the SMTP sessions with ${domain} on ${day} (UTC).`,
    '',
    `The record at _smtp._tls.${domain} asks for it.`,
    `Questions: ${contact}`,
    '',
  ].join('\r\n')
}
