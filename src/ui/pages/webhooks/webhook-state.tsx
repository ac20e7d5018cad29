/** Shows whether a webhook is enabled and why not, and whether its deliveries fail. */
import type { VNode } from 'preact'
import { StatusBadge } from '../../components/values.tsx'
import type { Webhook } from './webhook.ts'

export function WebhookState({ webhook }: { readonly webhook: Webhook }): VNode {
  const { enabled, disabled_reason: reason, failing_since: since } = webhook
  if (enabled && since !== null) return <StatusBadge status="failing" tone="bad" />
  if (enabled) return <StatusBadge status="enabled" />
  return (
    <StatusBadge status="disabled" tone={reason === null ? 'neutral' : 'bad'}>
      {reason === null ? 'Disabled' : `Disabled: ${reason}`}
    </StatusBadge>
  )
}
