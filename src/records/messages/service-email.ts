/**
 * Builds an email of the service itself: a report, an invitation, a warning.
 *
 * It is charged to no workspace, not tracked, and sent from the null return path.
 */
import type { Address } from '../../base/mail/address.js'
import type { TlsRequired } from '../../base/mail/tls-required.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import type { Email } from './email/email.js'
import { type EnqueuedEmail, enqueue, type NewEmail } from './queue/enqueue.js'

export interface ServiceSender {
  readonly hostname: string
  readonly mailFrom: Address
}

interface ServiceEmail {
  readonly id: string
  readonly messageId: string
  readonly from: Address
  readonly to: Address
  readonly subject: string
  readonly now: number
  /** Absent if nothing is said about TLS. */
  readonly tlsRequired?: TlsRequired | null
  /** True if it has a link that gives access to anyone who has it. Absent if not. */
  readonly givesAccess?: boolean
}

/** The priority of mail with a link that gives access. Someone waits for it. */
const ACCESS_PRIORITY = 'high'

/** Tells whether a link in the message gives anyone who reads it access to an account or a workspace. */
export function givesAccess({ workspace_id, priority }: Pick<Email, 'workspace_id' | 'priority'>): boolean {
  return workspace_id === SERVICE_WORKSPACE && priority === ACCESS_PRIORITY
}

/**
 * Tells whether a forwarding rule passed the message on, and its sender can be told of a failure. Such mail belongs to
 * the service too and is charged to no workspace. It is the only kind with an envelope sender: that of the message as
 * it came.
 */
export function isForwarded({ workspace_id, envelope_from }: Pick<Email, 'workspace_id' | 'envelope_from'>): boolean {
  return workspace_id === SERVICE_WORKSPACE && envelope_from !== ''
}

/** The priority of mail that is passed on. Mail that the service has written has the normal one. */
export const PASSED_ON_PRIORITY = 'low'

/**
 * Tells whether the service has not written the message: a forwarded message, also from the null sender, or a bounce of
 * one on its way back. It is never signed, because its author may be forged, and its bounces suppress no address.
 */
export function isPassedOn({ workspace_id, priority }: Pick<Email, 'workspace_id' | 'priority'>): boolean {
  return workspace_id === SERVICE_WORKSPACE && priority === PASSED_ON_PRIORITY
}

/** A notice that is ready to be committed. */
export interface ServiceNotice {
  readonly enqueued: EnqueuedEmail
  readonly raw: Buffer
}

export function enqueueServiceEmail(email: ServiceEmail, raw: Buffer): ServiceNotice {
  const recipient = { address: email.to, suppressed: false, notify: null, orcpt: null }
  return { enqueued: enqueue(toNewEmail(email), [recipient], raw), raw }
}

function toNewEmail(email: ServiceEmail): NewEmail {
  const { id, messageId, from, to, subject, now, tlsRequired } = email
  return {
    id,
    workspace_id: SERVICE_WORKSPACE,
    source: 'service',
    message_id: messageId,
    envelope_from: '',
    envid: null,
    ret: null,
    from_email: from,
    from_name: '',
    to_emails: toJson([to]),
    cc_emails: toJson([]),
    bcc_emails: toJson([]),
    reply_to: toJson([]),
    subject,
    tags: toJson([]),
    track_opens: 0,
    track_clicks: 0,
    tracking_skipped: null,
    has_copies: 0,
    priority: email.givesAccess === true ? ACCESS_PRIORITY : 'normal',
    smtputf8: 0,
    tls_required: tlsRequired ?? null,
    created_at: now,
    scheduled_for: null,
    key_id: null,
    template_id: null,
    broadcast_id: null,
  }
}
