/** Emails as their pages have them. */
import type { components as restComponents } from '../../api/schema.d.ts'
import type { components } from '../../api/session-schema.d.ts'
import { formatNumber } from '../../components/format.ts'
import { nameMailState } from '../../components/mail-state.tsx'

export type FoundEmail = components['schemas']['FoundEmail']
export type EmailStory = restComponents['schemas']['EmailStory']
export type RecipientStory = restComponents['schemas']['RecipientStory']

export type QueueAct = RecipientStory['can'][number]

/** The properties of each part of the page of an email. */
export interface EmailPartProps {
  readonly email: EmailStory
  readonly onChanged: () => void
}

/** A subject may be empty, or have no visible characters. */
export function titleOf({ subject }: { readonly subject: string }): string {
  return subject.trim() === '' ? '(no subject)' : subject
}

type Counted = Pick<FoundEmail, 'recipient_counts'>

/** Returns the states that any recipient has, with the number of recipients in each. */
export function listStates({
  recipient_counts: counts,
}: Counted): readonly (readonly [state: string, count: number])[] {
  return Object.entries(counts).filter(([, count]) => count > 0)
}

/**
 * Says how many recipients are in each state. Null means that all are in one state, which is the status of the
 * email.
 */
export function describeRecipients(email: Counted): string | null {
  const states = listStates(email)
  return states.length < 2
    ? null
    : states.map(([state, count]) => `${formatNumber(count)} ${nameMailState(state).toLowerCase()}`).join(', ')
}

/** Tells whether something more happens by itself. */
export function isOpen({ status }: { readonly status: EmailStory['status'] }): boolean {
  return status === 'queued' || status === 'scheduled'
}
