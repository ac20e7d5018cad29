/** Creates an API key and shows its secret once. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { ButtonLink } from '../../components/button.tsx'
import { ChoicesField, TextArea, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readChoices, readLines, readText, readTime } from '../../components/form-values.ts'
import { useLeaveGuard } from '../../components/leave-guard.ts'
import { Page, Section } from '../../components/page.tsx'
import { Copy, Note } from '../../components/values.tsx'
import { SampleArrival } from './sample-arrival.tsx'
import { SendingSamples } from './sending-samples.tsx'

type CreatedKey = components['schemas']['CreatedApiKey']
type Scope = CreatedKey['scopes'][number]

const scopes: readonly { readonly value: Scope; readonly label: string; readonly hint: string }[] = [
  { value: 'send', label: 'Send', hint: 'Sends mail, and reads what it has sent.' },
  { value: 'read', label: 'Read', hint: 'Reads everything, changes nothing.' },
  { value: 'full', label: 'Full', hint: 'Everything that your role in this workspace allows.' },
]

export function NewKeyPage(): VNode {
  const [created, setCreated] = useState<CreatedKey | null>(null)
  const create = async (values: FormData): Promise<void> => setCreated(await createKey(values))
  if (created !== null) return <CreatedKeyPage created={created} />
  return (
    <Page title="Create an API key" up={{ href: '/keys', label: 'API keys' }}>
      <Form onSubmit={create}>
        <TextField name="name" label="Name" hint="Name the program that uses the key." maxLength={100} />
        <ChoicesField name="scopes" label="Scopes" options={scopes} chosen={['send']} />
        <TextField
          name="expires_at"
          label="Expires at"
          type="datetime-local"
          optional
          hint="The time is in your time zone. Leave it empty for a key that does not expire."
        />
        <LimitFields />
        <FormActions>
          <SubmitButton>Create the key</SubmitButton>
          <ButtonLink href="/keys" tone="quiet">
            Cancel
          </ButtonLink>
        </FormActions>
      </Form>
    </Page>
  )
}

function LimitFields(): VNode {
  return (
    <>
      <TextArea
        name="allowed_domains"
        label="Sending domains"
        optional
        rows={2}
        placeholder="example.com"
        hint="Enter one per line. Leave it empty to allow all domains of the workspace."
      />
      <TextArea
        name="allowed_networks"
        label="Allowed networks"
        optional
        rows={2}
        placeholder="203.0.113.0/24"
        hint="Enter one address or network per line. Leave it empty to allow all networks."
      />
      <TextField
        name="sender"
        label="Replace senders with"
        type="email"
        optional
        hint="For a host that relays its mail here: an address in a verified domain that replaces senders such as root@host.lan. Leave it empty to refuse them."
      />
    </>
  )
}

async function createKey(values: FormData): Promise<CreatedKey> {
  const chosen = readChoices(values, 'scopes')
  const body = {
    name: readText(values, 'name'),
    scopes: scopes.map(({ value }) => value).filter((scope) => chosen.includes(scope)),
    expires_at: readTime(values, 'expires_at'),
    allowed_domains: readLines(values, 'allowed_domains'),
    allowed_networks: readLines(values, 'allowed_networks'),
    sender: readText(values, 'sender') || null,
  }
  return unwrap(api.POST('/v1/api-keys', { body }))
}

const UNKEPT = 'The key is shown only on this page, and you have not copied it. Leave without it?'

/** Asks before the page is left until the key is kept. Returns what says that it is. */
function useKeptKey(): () => void {
  const guard = useLeaveGuard(UNKEPT)
  useEffect(() => guard.set(), [])
  return () => guard.clear(guard.begin())
}

function CreatedKeyPage({ created }: { readonly created: CreatedKey }): VNode {
  const keep = useKeptKey()
  const { id, name, key, scopes, allowed_domains: domains, created_at: createdAt } = created
  return (
    <Page title="The key is created" up={{ href: '/keys', label: 'API keys' }}>
      <Note tone="warn" title="Copy the key now">
        <p>This page shows it only once. Posthorn stores only a hash, from which you cannot restore the key.</p>
      </Note>
      <p>
        The key “{name}”: <Copy text={key} label="the key" onCopied={keep} />
      </p>
      <p>
        Programs send it as <code>Authorization: Bearer</code>, or as the password of SMTP with any user name.
      </p>
      {scopes.some((scope) => scope !== 'read') ? (
        <Section title="Send an email with it" intro="The samples contain your key. Each sends one email to you.">
          <SampleArrival keyId={id} since={createdAt} />
          <SendingSamples apiKey={key} domain={domains[0]} />
        </Section>
      ) : null}
      <div class="form-actions key-end">
        <ButtonLink href="/keys" tone="primary" onClick={keep}>
          I have it: back to the list of keys
        </ButtonLink>
      </div>
    </Page>
  )
}
