/**
 * The state of an email. Where its recipients are in different states, each state has a badge with the number of its
 * recipients, because one word would hide a recipient that bounced.
 */
import type { VNode } from 'preact'
import { formatNumber } from '../../components/format.ts'
import { MailState, nameMailState } from '../../components/mail-state.tsx'
import { StatusBadge } from '../../components/values.tsx'
import { type FoundEmail, listStates } from './email.ts'

export function EmailStatus({ email }: { readonly email: Pick<FoundEmail, 'status' | 'recipient_counts'> }): VNode {
  const states = listStates(email)
  if (states.length < 2) return <MailState state={email.status} />
  return (
    <span class="badges">
      {states.map(([state, count]) => (
        <StatusBadge key={state} status={state}>
          {formatNumber(count)} {nameMailState(state).toLowerCase()}
        </StatusBadge>
      ))}
    </span>
  )
}
