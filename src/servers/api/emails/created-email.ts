/** The answer to a request that became an email. */
import { z } from 'zod'
import type { RequestedEmail } from '../../../outbound/sending/email-composer.js'
import type { PreparedEmail } from '../../../outbound/sending/email-preparer.js'
import { toRecipientCounts } from '../../../records/messages/email/recipient-counts.js'
import { recipientCounts } from './email-record.js'

export const createdEmail = z
  .object({
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
  })
  .meta({ id: 'CreatedEmail' })

export type CreatedEmail = z.output<typeof createdEmail>

export function toCreatedEmail({ enqueued, suppressed }: PreparedEmail, { content }: RequestedEmail): CreatedEmail {
  const { id, created_at, scheduled_for } = enqueued.email
  const scheduled = scheduled_for !== null
  return {
    id,
    from: content.from.address,
    to: content.to.map(({ address }) => address),
    created_at: new Date(created_at).toISOString(),
    ...(scheduled ? { scheduled_for: new Date(scheduled_for).toISOString() } : {}),
    ...(scheduled || suppressed.length > 0 ? { status: scheduled ? 'scheduled' : 'queued' } : {}),
    ...(suppressed.length > 0 ? { suppressed: [...suppressed] } : {}),
    recipient_counts: toRecipientCounts(enqueued.email),
  }
}
