/** One delivery: what was sent, what the endpoint answered, and a button that delivers the event again. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { capitalize } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Copy, Facts, StatusBadge, Time } from '../../components/values.tsx'
import type { Delivery, Webhook } from './webhook.ts'

interface DeliveryDialogProps {
  readonly webhook: Webhook
  readonly delivery: Delivery
  readonly onReplayed: () => void
  readonly onClose: () => void
}

export function DeliveryDialog({ webhook, delivery, onReplayed, onClose }: DeliveryDialogProps): VNode {
  const { id, response_status: status, response_body: body, error } = delivery
  const replay = async (): Promise<void> => {
    const path = { id: webhook.id, deliveryId: id }
    await unwrap(api.POST('/v1/webhooks/{id}/deliveries/{deliveryId}/replay', { params: { path } }))
    notify('The event is delivered again.')
    onReplayed()
    onClose()
  }
  return (
    <Dialog title={`Delivery of ${delivery.type}`} onClose={onClose} wide>
      <Facts
        facts={[
          { name: 'Status', value: <StatusBadge status={delivery.status} /> },
          { name: 'Attempts', value: delivery.attempts },
          { name: 'Created', value: <Time at={delivery.created_at} /> },
          { name: 'Delivered', value: <Time at={delivery.delivered_at} otherwise="Not yet" /> },
          { name: 'Next attempt', value: <Time at={delivery.next_attempt_at} otherwise="None" /> },
          { name: 'Status of the answer', value: status ?? 'No answer' },
          ...(error === null ? [] : [{ name: 'Why it failed', value: capitalize(error) }]),
          { name: 'Event', value: <Copy text={delivery.event_id} label="the id of the event" /> },
          { name: 'Delivery', value: <Copy text={id} label="the id of the delivery" /> },
        ]}
      />
      <h3>Body of the request</h3>
      <RequestBody webhookId={webhook.id} deliveryId={id} />
      {status === null ? null : (
        <>
          <h3>Body of the answer</h3>
          {body === null || body === '' ? <p class="soft">It was empty.</p> : <pre>{body}</pre>}
        </>
      )}
      <div class="form-actions">
        {mayAdminister.value && webhook.enabled ? (
          <Button tone="primary" onClick={replay}>
            Deliver it again
          </Button>
        ) : null}
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}

function RequestBody({ webhookId, deliveryId }: { readonly webhookId: string; readonly deliveryId: string }): VNode {
  const path = { id: webhookId, deliveryId }
  const load = () => unwrap(api.GET('/v1/webhooks/{id}/deliveries/{deliveryId}', { params: { path } }))
  const shown = useLoad(load, [webhookId, deliveryId])
  return (
    <Loaded from={shown}>
      {({ request }) =>
        request === null ? (
          <p class="soft">
            Posthorn cannot make it again: the event is no longer in the log, or the body is a received message.
          </p>
        ) : (
          <pre tabindex={0}>{indent(request.body, request.content_type)}</pre>
        )
      }
    </Loaded>
  )
}

/** JSON is easier to read with one field on a line. */
function indent(body: string, contentType: string): string {
  return contentType === 'application/json' ? JSON.stringify(JSON.parse(body), null, 2) : body
}
