/** A suppressed address, and the reasons for a suppression. */
import type { components } from '../../api/schema.d.ts'

export type Suppression = components['schemas']['Suppression']

export const reasonOptions = [
  { value: 'manual', label: 'Added by hand' },
  { value: 'hard_bounce', label: 'Bounced' },
  { value: 'spam_complaint', label: 'Complained' },
  { value: 'unsubscribe', label: 'Unsubscribed' },
] as const

type Reason = (typeof reasonOptions)[number]['value']

/** Undefined means that the text is not one of them. */
export function findReason(text: string): Reason | undefined {
  return reasonOptions.find(({ value }) => value === text)?.value
}

export function describeReason(reason: Reason): string {
  return reasonOptions.find(({ value }) => value === reason)?.label ?? reason
}
