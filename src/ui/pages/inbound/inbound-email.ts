/** An inbound email, and what the parts of its page get. */
import type { components } from '../../api/schema.d.ts'

export type InboundEmail = components['schemas']['InboundEmail']
export type ListedInboundEmail = components['schemas']['ListedInboundEmail']

export interface EmailPartProps {
  readonly email: InboundEmail
}

export function titleOf({ subject }: Pick<InboundEmail, 'subject'>): string {
  return subject.trim() === '' ? 'No subject' : subject
}
