/**
 * A delivery status notification to the envelope sender of what an app submitted by SMTP
 * (REST clients have events), as mail of the service with the null return path.
 *
 * Never to `<>`, and never about the service's own mail, so that nothing can go in circles
 * (RFC 3464 section 2). The recipient's NOTIFY decides whether there is one, the email's RET
 * and ENVID what it holds (RFC 3461).
 */
import type { DsnNotify } from '../../mail/dsn-parameters.js'
import { createMessageId } from '../../mail/message-id.js'
import { uuidv7 } from '../../platform/ids.js'
import type { Email } from '../email.js'
import { enqueueServiceEmail, type ServiceNotice, type ServiceSender } from '../service-email.js'
import { buildDsn, type Dsn, shouldSendDsn } from './dsn.js'
import type { DsnKind, DsnRecipient } from './dsn-report.js'
import { formatDsnSubject } from './dsn-text.js'

/** What a notification is about. */
export interface NoticeSubject {
  readonly email: Email
  /** The message; empty where it is not kept any more. */
  readonly raw: Buffer
  /** Null: not given. */
  readonly notify: readonly DsnNotify[] | null
}

/** Does anybody want to hear of it? */
export function shouldNotifySender({ email, notify }: Omit<NoticeSubject, 'raw'>, kind: DsnKind): boolean {
  return email.source === 'smtp' && email.envelope_from !== '' && shouldSendDsn(notify, kind)
}

export interface NoticeReport {
  readonly kind: DsnKind
  readonly recipient: DsnRecipient
}

/** Null where nobody wants to hear of it. */
export function buildSenderNotice(
  sender: ServiceSender,
  subject: NoticeSubject,
  told: NoticeReport,
  now: number,
): ServiceNotice | null {
  const { email, raw: original } = subject
  const to = email.envelope_from
  if (to === '' || !shouldNotifySender(subject, told.kind)) return null
  const id = uuidv7(now)
  const messageId = createMessageId(id, sender.hostname)
  const dsn: Dsn = {
    kind: told.kind,
    reportingMta: sender.hostname,
    arrivedAt: email.created_at,
    envid: email.envid,
    ret: email.ret,
    original,
    recipients: [told.recipient],
    from: sender.mailFrom,
    to,
    now,
    messageId,
  }
  const raw = buildDsn(dsn)
  return enqueueServiceEmail({ id, messageId, from: sender.mailFrom, to, subject: formatDsnSubject(dsn), now }, raw)
}
