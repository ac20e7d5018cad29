/**
 * The record of an email of the service itself: reports, invitations, warnings.
 *
 * It is charged to no workspace, not tracked, and sent from the null return path.
 */
import type { Address } from '../mail/address.js'
import { SERVICE_WORKSPACE } from '../storage/tables/tables.js'
import type { NewEmail } from './queue/enqueue.js'

export interface ServiceEmail {
  readonly id: string
  readonly messageId: string
  readonly from: Address
  readonly to: Address
  readonly subject: string
  readonly now: number
}

export function buildServiceEmail({ id, messageId, from, to, subject, now }: ServiceEmail): NewEmail {
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
    to_emails: JSON.stringify([to]),
    cc_emails: '[]',
    bcc_emails: '[]',
    reply_to: '[]',
    subject,
    tags: '[]',
    track_opens: 0,
    track_clicks: 0,
    priority: 'normal',
    smtputf8: 0,
    created_at: now,
    scheduled_for: null,
    key_id: null,
    template_id: null,
  }
}
