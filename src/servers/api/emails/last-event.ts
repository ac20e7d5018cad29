/** The state of an email in the word that clients of Resend read. */
import { z } from 'zod'
import type { EmailStatus } from '../../../base/storage/tables/email-tables.js'
import type { RecipientCounts } from '../../../records/messages/email/recipient-counts.js'

export const lastEvent = z
  .enum([
    'scheduled',
    'queued',
    'sent',
    'delivered',
    'opened',
    'clicked',
    'bounced',
    'complained',
    'failed',
    'suppressed',
    'canceled',
  ])
  .meta({ description: 'The status in the words of Resend, with opens and clicks.', example: 'delivered' })

interface EmailState {
  readonly status: EmailStatus
  readonly recipient_counts: RecipientCounts
  readonly opened_at: string | number | null
  readonly clicked_at: string | number | null
}

export function lastEventOf({
  status,
  recipient_counts: counts,
  opened_at,
  clicked_at,
}: EmailState): z.output<typeof lastEvent> {
  if (status === 'cancelled') return 'canceled'
  if (status === 'failed') return counts.suppressed > 0 && counts.failed === 0 ? 'suppressed' : 'failed'
  if (status !== 'sent' && status !== 'delivered') return status
  if (clicked_at !== null) return 'clicked'
  return opened_at === null ? status : 'opened'
}
