/** An event of the workspace, and the words for its type. */
import type { components } from '../../api/schema.d.ts'
import { toWords } from '../../components/values.tsx'

export type Event = components['schemas']['Event']
type EventType = Event['type']

const words = {
  'email.queued': 'Email accepted',
  'email.suppressed': 'Email not sent: address suppressed',
  'email.sent': 'Email handed over',
  'email.delivered': 'Email delivered',
  'email.deferred': 'Email delayed',
  'email.bounced': 'Email bounced',
  'email.failed': 'Email failed',
  'email.complained': 'Email reported as spam',
  'email.opened': 'Email opened',
  'email.clicked': 'Link clicked',
  'email.unsubscribed': 'Unsubscribed',
  'email.received': 'Email received',
  'domain.verified': 'Domain verified',
  'domain.failed': 'Domain failed',
  'sms.sent': 'SMS: code sent',
  'sms.delivered': 'SMS: code delivered',
  'sms.failed': 'SMS: code failed',
  'sms.verified': 'SMS: code entered correctly',
  'sending.warned': 'Warning of bounces or complaints',
  'sending.held': 'Mail held because of bounces or complaints',
  'sending.released': 'Held mail released',
  'service.check_failed': 'A check of the service failed',
  'service.check_recovered': 'A check of the service is in order again',
} as const satisfies Partial<Record<EventType, string>>

const known: ReadonlyMap<string, string> = new Map(Object.entries(words))

/** Later versions of the server may add types. */
export function describeType(type: string): string {
  return known.get(type) ?? toWords(type.replaceAll('.', ' '))
}

export const typeOptions = Object.entries(words).map(([value, label]) => ({ value, label }))

/** The text of the address bar as a type, or undefined. */
export function findType(text: string): EventType | undefined {
  const types: readonly EventType[] = Object.keys(words).filter((type): type is keyof typeof words => type in words)
  return types.find((type) => type === text)
}
