/** The formats and contents that the settings of a webhook can choose. */
import type { WebhookContent, WebhookFormat } from '../../../base/storage/tables/webhook-tables.js'

export const webhookFormats = [
  'posthorn',
  'resend',
  'postmark',
  'sendgrid',
  'mailgun',
  'raw',
] as const satisfies readonly WebhookFormat[]

export const webhookContents = ['none', 'parsed', 'raw'] as const satisfies readonly WebhookContent[]
