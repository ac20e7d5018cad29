/** A webhook and its deliveries as the interface has them, and what the types of events mean. */
import type { components } from '../../api/schema.d.ts'
import { readChoices } from '../../components/form-values.ts'

export type Webhook = components['schemas']['Webhook']
export type Delivery = components['schemas']['WebhookDelivery']
type EventType = Webhook['events'][number]

const meanings: Readonly<Record<EventType, string>> = {
  'email.queued': 'Accepted for a recipient.',
  'email.suppressed': 'Not sent: the recipient is on the suppression list.',
  'email.sent': 'A server took the email over.',
  'email.delivered': "The recipient's mail server took it over.",
  'email.deferred': 'An attempt failed, and Posthorn will try again.',
  'email.bounced': 'Refused permanently, or given up.',
  'email.failed': 'Given up before a server was reached.',
  'email.complained': 'Reported as spam.',
  'email.opened': 'The open pixel was loaded.',
  'email.clicked': 'A link was followed.',
  'email.unsubscribed': 'The recipient unsubscribed.',
  'email.received': 'An inbound email arrived.',
  'domain.verified': 'Mail can be sent from a domain.',
  'domain.failed': 'Mail from a domain is no longer accepted.',
  'sms.sent': 'The provider took over a code.',
  'sms.delivered': 'A code reached the phone.',
  'sms.failed': 'A code did not reach the phone.',
  'sms.verified': 'A code was checked and is correct.',
  'sending.warned': 'Too many bounces or complaints.',
  'sending.held': 'Mail is held because of too many bounces or complaints.',
  'sending.released': 'Held mail is sent again.',
  'service.check_failed': 'A daily check of the server found something wrong.',
  'service.check_recovered': 'A problem that a daily check found is solved.',
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
