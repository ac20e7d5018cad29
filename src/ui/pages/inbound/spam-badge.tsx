/** The spam status of an inbound email with its score. */
import type { VNode } from 'preact'
import { formatNumber } from '../../components/format.ts'
import { StatusBadge } from '../../components/values.tsx'
import type { ListedInboundEmail } from './inbound-email.ts'

const names = { clean: 'Not spam', suspicious: 'Suspicious', spam: 'Spam' } as const
const tones = { clean: 'good', suspicious: 'warn', spam: 'bad' } as const

interface SpamBadgeProps {
  readonly email: Pick<ListedInboundEmail, 'status' | 'spam_status' | 'spam_score'>
}

export function SpamBadge({ email: { status, spam_status: spam, spam_score: score } }: SpamBadgeProps): VNode {
  if (spam === null) {
    const isFailed = status === 'failed'
    return (
      <StatusBadge status={status} tone={isFailed ? 'bad' : 'warn'}>
        {isFailed ? 'Not readable' : 'Being processed'}
      </StatusBadge>
    )
  }
  return (
    <StatusBadge status={spam} tone={tones[spam]}>
      {names[spam]}
      {score === null ? null : ` ${formatNumber(score)}`}
    </StatusBadge>
  )
}
