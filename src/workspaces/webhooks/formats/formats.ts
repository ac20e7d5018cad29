/** The formats by name, and what each needs. */
import { Refusal } from '../../../base/mail/refusal.js'
import type { WebhookContent, WebhookFormat } from '../../../base/storage/tables/webhook-tables.js'
import type { ComposedBody, EventFormat, FormattedEvent } from './event-format.js'
import { mailgun } from './mailgun.js'
import { composePosthorn } from './posthorn.js'
import { postmark } from './postmark.js'
import { raw } from './raw.js'
import { resend } from './resend.js'
import { sendgrid } from './sendgrid.js'

const foreign: Readonly<Record<Exclude<WebhookFormat, 'posthorn'>, EventFormat>> = {
  resend,
  postmark,
  sendgrid,
  mailgun,
  raw,
}

/** False: events of this type are not delivered in this format. */
export function isKnownType(format: WebhookFormat, type: string): boolean {
  return format === 'posthorn' || foreign[format].types.has(type)
}

/** Throws a Refusal `invalid-parameter` if a webhook would get nothing: its format has no event of its types. */
export function requireKnownTypes(format: WebhookFormat, types: readonly string[]): void {
  if (format === 'posthorn' || types.some((type) => isKnownType(format, type))) return
  const known = [...foreign[format].types].join(', ')
  const message = `events: the format "${format}" has none of these types; it has: ${known}`
  throw new Refusal('invalid-parameter', message, { field: 'events', value: types[0] ?? null })
}

export function composeEvent(format: WebhookFormat, event: FormattedEvent): ComposedBody {
  return format === 'posthorn' ? composePosthorn(event) : foreign[format].compose(event)
}

/** True if the body of `email.received` has parts of the message, so that the message has to be read. */
export function needsMessage(format: WebhookFormat, content: WebhookContent): boolean {
  return format === 'posthorn' || format === 'resend' ? content !== 'none' : true
}

/** True if events about an email have fields that only the record of the email has. */
export function needsEmail(format: WebhookFormat): boolean {
  return format !== 'posthorn' && format !== 'raw'
}
