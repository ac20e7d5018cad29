/** A webhook and its deliveries as the interface has them, and what the types of events mean. */
import type { components } from '../../api/schema.d.ts'
import { readChoices } from '../../components/form-values.ts'

export type Webhook = components['schemas']['Webhook']
export type Delivery = components['schemas']['WebhookDelivery']
type EventType = Webhook['events'][number]

const meanings: Readonly<Record<EventType, string>> = {
  'email.queued': 'Posthorn accepted an email for a recipient.',
  'email.suppressed': 'A recipient is on the suppression list and gets no email.',
  'email.sent': 'A server accepted an email.',
  'email.delivered': "The recipient's mail server accepted an email.",
  'email.deferred': 'An attempt failed, and Posthorn will try again.',
  'email.bounced': 'A server refused an email permanently, or Posthorn gave up.',
  'email.failed': 'Posthorn gave up before it reached a server.',
  'email.complained': 'A recipient reported an email as spam.',
  'email.opened': 'A program loaded the tracking pixel of an email.',
  'email.clicked': 'A program followed a link of an email.',
  'email.unsubscribed': 'A recipient unsubscribed.',
  'email.received': 'An inbound email arrived.',
  'domain.verified': 'You can send mail from a domain.',
  'domain.failed': 'Posthorn no longer accepts mail from a domain.',
  'sms.sent': 'The provider accepted a verification code.',
  'sms.delivered': 'A verification code reached the phone.',
  'sms.failed': 'A verification code did not reach the phone.',
  'sms.verified': 'A verification code was checked and is correct.',
  'sending.warned': 'Bounces or complaints are above the limit for a warning.',
  'sending.held': 'Posthorn holds mail because of too many bounces or complaints.',
  'sending.released': 'Posthorn sends the held mail again.',
  'service.check_failed': 'A daily check of the server found a fault.',
  'service.check_recovered': 'A fault that a daily check found is gone.',
}

const types = Object.keys(meanings).filter((type): type is EventType => type in meanings)

/** The options of a ChoicesField. */
export function listEventOptions(
  offered: readonly EventType[] = types,
): readonly { readonly value: string; readonly label: string; readonly hint: string }[] {
  return offered.map((type) => ({ value: type, label: type, hint: meanings[type] }))
}

export function readEventTypes(values: FormData, name: string): EventType[] {
  const chosen = readChoices(values, name)
  return types.filter((type) => chosen.includes(type))
}
