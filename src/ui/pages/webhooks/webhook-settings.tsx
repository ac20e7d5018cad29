/**
 * The settings of a webhook that an administrator changes: URL, events, state and secret. The administrator deletes
 * the webhook here too.
 */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { ChoicesField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import { RequestFields, readRequestForm } from './request-fields.tsx'
import { SigningSecret } from './signing-secret.tsx'
import { listEventOptions, readEventTypes, type Webhook } from './webhook.ts'

interface SettingsProps {
  readonly webhook: Webhook
  readonly onChanged: (webhook: Webhook) => void
}

export function WebhookSettings({ webhook, onChanged }: SettingsProps): VNode {
  const { id, url, events } = webhook
  const save = async (values: FormData): Promise<void> => {
    const body = { url: readText(values, 'url'), events: readEventTypes(values, 'events'), ...readRequestForm(values) }
    onChanged(await unwrap(api.PATCH('/v1/webhooks/{id}', { params: { path: { id } }, body })))
    notify('The webhook is changed.')
  }
  return (
    <>
      <Section title="URL, events and requests">
        <Form onSubmit={save}>
          <TextField name="url" label="URL" type="url" value={url} />
          <ChoicesField name="events" label="Events" options={listEventOptions()} chosen={events} />
          <RequestFields webhook={webhook} />
          <FormActions>
            <SubmitButton>Save the webhook</SubmitButton>
          </FormActions>
        </Form>
      </Section>
      <SecretSection id={id} />
      {webhook.enabled ? <DisableSection id={id} onChanged={onChanged} /> : null}
      <DeletionSection webhook={webhook} />
    </>
  )
}

function SecretSection({ id }: { readonly id: string }): VNode {
  const [asking, setAsking] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const rotate = async (): Promise<void> => {
    const rotated = await unwrap(api.POST('/v1/webhooks/{id}/rotate-secret', { params: { path: { id } } }))
    setSecret(rotated.signing_secret)
  }
  return (
    <Section title="Secret" intro="The secret signs the requests. Replace it if others may have seen it.">
      <Button onClick={() => setAsking(true)}>Replace the secret</Button>
      {asking ? (
        <ConfirmDialog
          title="Replace the secret?"
          action="Replace the secret"
          onConfirm={rotate}
          onClose={() => setAsking(false)}
        >
          <p>
            <code>X-Service-Signature</code> is made with the new secret at once: give it to your program without delay.{' '}
            <code>webhook-signature</code> has a signature of each of the two for 24 hours.
          </p>
        </ConfirmDialog>
      ) : null}
      {secret === null ? null : (
        <Dialog title="The new secret" onClose={() => setSecret(null)}>
          <SigningSecret secret={secret} />
          <div class="form-actions">
            <Button tone="primary" onClick={() => setSecret(null)}>
              I have copied it
            </Button>
          </div>
        </Dialog>
      )}
    </Section>
  )
}

function DisableSection({ id, onChanged }: { readonly id: string } & Pick<SettingsProps, 'onChanged'>): VNode {
  const disable = async (): Promise<void> => {
    const body = { enabled: false }
    onChanged(await unwrap(api.PATCH('/v1/webhooks/{id}', { params: { path: { id } }, body })))
    notify('The webhook is disabled.')
  }
  return (
    <Section
      title="Disable"
      intro="A disabled webhook gets no events. Once you enable it again, a replay delivers those that it missed."
    >
      <Button onClick={disable}>Disable the webhook</Button>
    </Section>
  )
}

function DeletionSection({ webhook: { id, url } }: { readonly webhook: Webhook }): VNode {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const { host } = new URL(url)
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/webhooks/{id}', { params: { path: { id } } }))
    notify('The webhook is deleted.')
    navigate('/webhooks')
  }
  return (
    <Section title="Delete" intro="Nothing more is delivered, not even pending events.">
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete the webhook
      </Button>
      {open ? (
        <ConfirmDialog
          title="Delete this webhook?"
          name={host}
          action="Delete it with its deliveries"
          onConfirm={remove}
          onClose={() => setOpen(false)}
        >
          <p>{url}</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  )
}
