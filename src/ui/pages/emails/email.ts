/** Emails as their pages have them. */
import type { components } from '../../api/session-schema.d.ts'

export type FoundEmail = components['schemas']['FoundEmail']
export type EmailStory = components['schemas']['EmailStory']
export type RecipientStory = components['schemas']['RecipientStory']

export type QueueAct = RecipientStory['can'][number]

/** What a part of the page of an email gets. */
export interface EmailPartProps {
  readonly email: EmailStory
  readonly onChanged: () => void
}

/** A subject may be empty, or have nothing that can be seen. */
export function titleOf({ subject }: { readonly subject: string }): string {
  return subject.trim() === '' ? '(no subject)' : subject
}

/** Whether something more happens by itself. */
export function isOpen({ status }: { readonly status: EmailStory['status'] }): boolean {
  return status === 'queued' || status === 'scheduled'
}
