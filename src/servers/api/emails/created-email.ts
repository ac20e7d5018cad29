/** The answer to a request that became an email. */
import { z } from 'zod'
import type { RequestedEmail } from '../../../outbound/sending/email-composer.js'
import type { PreparedEmail } from '../../../outbound/sending/email-preparer.js'
import type { Email } from '../../../records/messages/email/email.js'
import { toRecipientCounts } from '../../../records/messages/email/recipient-counts.js'
import { recipientCounts } from './email-record.js'
import { lastEvent, lastEventOf } from './last-event.js'

export const createdEmail = z
  .object({
    object: z.literal('email'),
    id: z.uuid(),
    from: z.string(),
    to: z.array(z.string()),
    created_at: z.iso.datetime(),
    scheduled_for: z.iso.datetime().optional(),
    status: z
      .enum(['queued', 'scheduled'])
      .optional()
      .meta({ description: 'Only of scheduled and partly suppressed emails.' }),
    suppressed: z.array(z.string()).optional().meta({ description: 'Recipients that are skipped.' }),
    recipient_counts: recipientCounts,
    last_event: lastEvent,
    scheduled_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'CreatedEmail' })

export type CreatedEmail = z.output<typeof createdEmail>

export function toCreatedEmail({ enqueued, suppressed }: PreparedEmail, { content }: RequestedEmail): CreatedEmail {
  const to = content.to.map(({ address }) => address)
  return describeCreated(enqueued.email, { from: content.from.address, to, suppressed })
}

interface Addresses {
  readonly from: string
  readonly to: readonly string[]
  readonly suppressed: readonly string[]
}

/** The answer about an email that was just stored. */
export function describeCreated(email: Email, { from, to, suppressed }: Addresses): CreatedEmail {
  const scheduledFor = email.scheduled_for === null ? null : new Date(email.scheduled_for).toISOString()
  const recipient_counts = toRecipientCounts(email)
  const { status, opened_at, clicked_at } = email
  return {
    ...{ object: 'email', id: email.id, from, to: [...to], created_at: new Date(email.created_at).toISOString() },
    ...(scheduledFor === null ? {} : { scheduled_for: scheduledFor }),
    ...(scheduledFor !== null || suppressed.length > 0
      ? { status: scheduledFor === null ? 'queued' : 'scheduled' }
      : {}),
    ...(suppressed.length > 0 ? { suppressed: [...suppressed] } : {}),
    recipient_counts,
    last_event: lastEventOf({ status, opened_at, clicked_at, recipient_counts }),
    scheduled_at: scheduledFor,
  }
}
