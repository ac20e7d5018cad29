/** The settings of a domain: what it receives, and the tracking of its mail. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { CheckField, SelectField, TextArea } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFlag, readLines, readText } from '../../components/form-values.ts'
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
    tracking: { open: readSwitch(values, 'tracking.open'), click: readSwitch(values, 'tracking.click') },
    blocked_addresses: readLines(values, 'blocked_addresses'),
  }
}

const switches = [
  { value: 'null', label: 'On over REST, off over SMTP' },
  { value: 'true', label: 'On' },
  { value: 'false', label: 'Off' },
]

/** Null if each interface keeps its default. */
function readSwitch(values: FormData, name: string): boolean | null {
  const text = readText(values, name)
  return text === 'null' ? null : text === 'true'
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
      <SelectField name="tracking.open" label="Track opens" options={switches} value={String(tracking.open)} />
      <SelectField
        name="tracking.click"
        label="Track clicks"
        options={switches}
        value={String(tracking.click)}
        hint="This applies to mail that does not say whether it is tracked."
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
