/** The recipients of a broadcast, and what became of their messages, in words. */
import type { components, paths } from '../../api/schema.d.ts'

type RecipientList = paths['/v1/broadcasts/{id}/recipients']['get']
export type Recipient = components['schemas']['BroadcastRecipient']
export type RecipientPage = RecipientList['responses'][200]['content']['application/json']
export type Outcome = NonNullable<NonNullable<RecipientList['parameters']['query']>['status']>

interface OutcomeWords {
  readonly label: string
  /** What an empty list says. */
  readonly none: string
}

const outcomes: Readonly<Record<Outcome, OutcomeWords>> = {
  sent: { label: 'Message sent', none: 'No message was sent yet' },
  delivered: { label: 'Delivered', none: 'Nothing was delivered yet' },
  opened: { label: 'Opened', none: 'Nobody has opened it yet' },
  clicked: { label: 'Clicked', none: 'Nobody has followed a link yet' },
  unsubscribed: { label: 'Unsubscribed', none: 'Nobody has unsubscribed' },
  bounced: { label: 'Bounced', none: 'No message bounced' },
  complained: { label: 'Complained', none: 'Nobody has complained' },
  failed: { label: 'Failed', none: 'No message failed' },
  cancelled: { label: 'Cancelled', none: 'No message was cancelled' },
  queued: { label: 'In the queue', none: 'No message waits in the queue' },
}

export function isOutcome(text: string): text is Outcome {
  return Object.hasOwn(outcomes, text)
}

export function describeOutcome(outcome: Outcome): OutcomeWords {
  return outcomes[outcome]
}

export const outcomeOptions: readonly { readonly value: string; readonly label: string }[] = [
  { value: '', label: 'All recipients' },
  ...Object.entries(outcomes).map(([value, { label }]) => ({ value, label })),
]
