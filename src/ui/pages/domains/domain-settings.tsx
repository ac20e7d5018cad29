/** The settings of a domain: what it receives, and the tracking of its mail. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { CheckField, TextArea } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFlag, readLines } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import type { DomainPartProps } from './domain.ts'

export function DomainSettings({ domain, onChanged }: DomainPartProps): VNode {
  const save = async (values: FormData): Promise<void> => {
    const params = { path: { id: domain.id } }
    onChanged(await unwrap(api.PATCH('/v1/domains/{id}', { params, body: readChange(values) })))
    notify('The settings are saved.')
  }
  return (
    <Section title="Settings">
      <Form onSubmit={save}>
        <SettingFields domain={domain} />
        <FormActions>
          <SubmitButton>Save the settings</SubmitButton>
        </FormActions>
      </Form>
    </Section>
  )
}

function readChange(values: FormData): components['schemas']['DomainChange'] {
  return {
    inbound: readFlag(values, 'inbound'),
    tracking: { open: readFlag(values, 'tracking.open'), click: readFlag(values, 'tracking.click') },
    blocked_addresses: readLines(values, 'blocked_addresses'),
  }
}

function SettingFields({ domain }: Pick<DomainPartProps, 'domain'>): VNode {
  const { inbound, tracking, blocked_addresses: blocked } = domain
  return (
    <>
      <CheckField
        name="inbound"
        label="Receive mail"
        checked={inbound}
        hint="The domain must be verified, and its MX record must point here."
      />
      <CheckField
        name="tracking.open"
        label="Track opens"
        checked={tracking.open}
        hint="Default for mail sent by SMTP without tracking header fields."
      />
      <CheckField
        name="tracking.click"
        label="Track clicks"
        checked={tracking.click}
        hint="Default for mail sent by SMTP without tracking header fields."
      />
      <TextArea
        name="blocked_addresses"
        label="Blocked addresses"
        optional
        rows={3}
        value={blocked.join('\n')}
        hint="Posthorn refuses mail to these addresses. Enter one local part or address in each line. You cannot block postmaster."
      />
    </>
  )
}
