/** Creates a webhook and shows its secret once. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { ButtonLink } from '../../components/button.tsx'
import { ChoicesField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { Page } from '../../components/page.tsx'
import { RequestFields, readRequestForm, VerificationKey } from './request-fields.tsx'
import { SigningSecret } from './signing-secret.tsx'
import { listEventOptions, readEventTypes } from './webhook.ts'

type CreatedWebhook = components['schemas']['CreatedWebhook']

const up = { href: '/webhooks', label: 'Webhooks' }

export function NewWebhookPage(): VNode {
  const [created, setCreated] = useState<CreatedWebhook | null>(null)
  const create = async (values: FormData): Promise<void> => {
    const body = { url: readText(values, 'url'), events: readEventTypes(values, 'events'), ...readRequestForm(values) }
    setCreated(await unwrap(api.POST('/v1/webhooks', { body })))
  }
  if (created !== null) return <CreatedWebhookPage created={created} />
  return (
    <Page title="Create a webhook" up={up}>
      <Form onSubmit={create}>
        <TextField
          name="url"
          label="URL"
          type="url"
          placeholder="https://example.com/hooks/mail"
          hint="Prefer https: requests are signed, not encrypted. Its host must have a public address."
        />
        <ChoicesField
          name="events"
          label="Events"
          options={listEventOptions()}
          chosen={['email.delivered', 'email.bounced', 'email.complained']}
        />
        <RequestFields webhook={null} />
        <FormActions>
          <SubmitButton>Create the webhook</SubmitButton>
          <ButtonLink href="/webhooks" tone="quiet">
            Cancel
          </ButtonLink>
        </FormActions>
      </Form>
    </Page>
  )
}

function CreatedWebhookPage({ created }: { readonly created: CreatedWebhook }): VNode {
  const { id, url, signing_secret: secret, verification_key: key } = created
  return (
    <Page title="The webhook is created" up={up} intro={`New events are sent to ${url}.`}>
      <SigningSecret secret={secret} />
      {key === null ? null : <VerificationKey value={key} />}
      <div class="form-actions">
        <ButtonLink href={`/webhooks/${id}`} tone="primary">
          Open the webhook
        </ButtonLink>
      </div>
    </Page>
  )
}
