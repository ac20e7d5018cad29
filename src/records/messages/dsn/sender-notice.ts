/**
 * Builds a delivery status notification to the envelope sender of a message that an app submitted by SMTP (REST clients
 * have events), or that a forwarding rule passed on. It is mail of the service with the null return path.
 *
 * It is never sent to `<>`, and never about the service's own mail, so that no loop arises (RFC 3464 section 2). The
 * recipient's NOTIFY decides whether one is sent, the email's RET and ENVID what it contains (RFC 3461).
 */
import type { DsnNotify } from '../../../base/mail/dsn-parameters.js'
import { createMessageId } from '../../../base/mail/message-id.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import type { Email } from '../email/email.js'
import { enqueueServiceEmail, isForwarded, type ServiceNotice, type ServiceSender } from '../service-email.js'
import { buildDsn, type Dsn, shouldSendDsn } from './dsn.js'
import type { DsnKind, DsnRecipient } from './dsn-report.js'
import { formatDsnSubject } from './dsn-text.js'

/** The subject of a notification. */
interface NoticeSubject {
  readonly email: Email
  /** The message. Empty if it is no longer stored. */
  readonly raw: Buffer
  /** Null if the client did not give it. */
  readonly notify: readonly DsnNotify[] | null
}

/** Tells whether a notification is requested. */
export function shouldNotifySender({ email, notify }: Omit<NoticeSubject, 'raw'>, kind: DsnKind): boolean {
  const isExpected = email.source === 'smtp' || isForwarded(email)
  return isExpected && email.envelope_from !== '' && shouldSendDsn(notify, kind)
}

interface NoticeReport {
  readonly kind: DsnKind
  readonly recipient: DsnRecipient
}

/** Returns null if no notification is requested. */
export function buildSenderNotice(
  sender: ServiceSender,
  subject: NoticeSubject,
  report: NoticeReport,
  now: number,
): ServiceNotice | null {
  const { email, raw: original } = subject
  const to = email.envelope_from
  if (to === '' || !shouldNotifySender(subject, report.kind)) return null
  const id = uuidv7(now)
  const messageId = createMessageId(id, sender.hostname)
  const isTlsRequired = email.tls_required === 'yes'
  const dsn: Dsn = {
    kind: report.kind,
    reportingMta: sender.hostname,
    arrivedAt: email.created_at,
    envid: email.envid,
    // If the message demands TLS, the notification has only the header (RFC 8689 section 5).
    ret: isTlsRequired ? 'headers' : email.ret,
    original,
    recipients: [report.recipient],
    from: sender.mailFrom,
    to,
    now,
    messageId,
  }
  const raw = buildDsn(dsn)
  const tlsRequired = isTlsRequired ? 'yes' : null
  const subjectLine = formatDsnSubject(dsn)
  return enqueueServiceEmail({ id, messageId, from: sender.mailFrom, to, subject: subjectLine, now, tlsRequired }, raw)
}
