/** The states of an email as the interface names them; `suppressed` is a recipient's alone. */
import { z } from 'zod'
import type { EmailStatus, RecipientStatus } from '../../storage/tables/email-tables.js'

const commonStatuses = [
  'scheduled',
  'queued',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'cancelled',
] as const satisfies readonly (EmailStatus & RecipientStatus)[]

export const emailStatus = z.enum([...commonStatuses, 'complained'])
export const recipientStatus = z.enum([...commonStatuses, 'suppressed'])
