/** Shows whether a webhook is enabled, and why not. */
import type { VNode } from 'preact'
import { StatusBadge } from '../../components/values.tsx'
import type { Webhook } from './webhook.ts'

export function WebhookState({ webhook }: { readonly webhook: Webhook }): VNode {
  const { enabled, disabled_reason: reason } = webhook
  if (enabled) return <StatusBadge status="enabled" />
  return (
    <StatusBadge status="disabled" tone={reason === null ? 'neutral' : 'bad'}>
      {reason === null ? 'Disabled' : `Disabled: ${reason}`}
    </StatusBadge>
  )
}
