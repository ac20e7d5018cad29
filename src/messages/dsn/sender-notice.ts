/**
 * A delivery status notification to the envelope sender of what an app submitted by SMTP
 * (REST clients have events), as mail of the service with the null return path.
 *
 * Never to `<>`, and never about the service's own mail, so that nothing can go in circles
 * (RFC 3464 section 2). The recipient's NOTIFY decides whether there is one, the email's RET
 * and ENVID what it holds (RFC 3461).
 */
import type { Address } from '../../mail/address.js'
import type { DsnNotify } from '../../mail/dsn-parameters.js'
import { newMessageId } from '../../mail/message-id.js'
import { uuidv7 } from '../../platform/ids.js'
import type { Email } from '../email.js'
import { type Enqueued, enqueue } from '../queue/enqueue.js'
import { serviceEmail } from '../service-email.js'
import { buildDsn, type Dsn, wantsDsn } from './dsn.js'
import type { DsnKind, DsnRecipient } from './dsn-report.js'
import { dsnSubject } from './dsn-text.js'

export interface Notice {
  readonly enqueued: Enqueued
  readonly raw: Buffer
}

export interface NoticeSettings {
  readonly hostname: string
  readonly mailFrom: Address
}

/** What a notification is about. */
export interface NoticeSubject {
  readonly email: Email
  /** The message; empty where it is not kept any more. */
  readonly raw: Buffer
  /** Null: not given. */
  readonly notify: readonly DsnNotify[] | null
}

/** Does anybody want to hear of it? */
export function wantsNotice({ email, notify }: Omit<NoticeSubject, 'raw'>, kind: DsnKind): boolean {
  return email.source === 'smtp' && email.envelope_from !== '' && wantsDsn(notify, kind)
}

export interface Told {
  readonly kind: DsnKind
  readonly recipient: DsnRecipient
}

/** Null where nobody wants to hear of it. */
export function senderNotice(settings: NoticeSettings, subject: NoticeSubject, told: Told, now: number): Notice | null {
  const { email, raw: original } = subject
  if (!wantsNotice(subject, told.kind)) return null
  const id = uuidv7(now)
  const to = email.envelope_from as Address
  const messageId = newMessageId(id, settings.hostname)
  const dsn: Dsn = {
    kind: told.kind,
    reportingMta: settings.hostname,
    arrivedAt: email.created_at,
    envid: email.envid,
    ret: email.ret,
    original,
    recipients: [told.recipient],
    from: settings.mailFrom,
    to,
    now,
    messageId,
  }
  const raw = buildDsn(dsn)
  const wanted = serviceEmail({ id, messageId, from: settings.mailFrom, to, subject: dsnSubject(dsn), now })
  return { enqueued: enqueue(wanted, [{ address: to, suppressed: false, notify: null, orcpt: null }], raw), raw }
}
