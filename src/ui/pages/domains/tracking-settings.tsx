/** The tracking of the mail of a domain. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { SelectField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import type { DomainPartProps } from './domain.ts'

const switches = [
  { value: 'null', label: 'On over REST, off over SMTP' },
  { value: 'true', label: 'On' },
  { value: 'false', label: 'Off' },
]

export function TrackingSettings({ domain: { id, tracking }, onChanged }: DomainPartProps): VNode {
  const save = async (values: FormData): Promise<void> => {
    const change = { open: readSwitch(values, 'tracking.open'), click: readSwitch(values, 'tracking.click') }
    onChanged(await unwrap(api.PATCH('/v1/domains/{id}', { params: { path: { id } }, body: { tracking: change } })))
    notify('The settings are saved.')
  }
  return (
    <Section title="Tracking">
      <Form onSubmit={save}>
        <SelectField name="tracking.open" label="Track opens" options={switches} value={String(tracking.open)} />
        <SelectField
          name="tracking.click"
          label="Track clicks"
          options={switches}
          value={String(tracking.click)}
          hint="This applies to mail that does not say whether it is tracked."
        />
        <FormActions>
          <SubmitButton>Save the settings</SubmitButton>
        </FormActions>
      </Form>
    </Section>
  )
}

/** Null if each interface keeps its default. */
function readSwitch(values: FormData, name: string): boolean | null {
  const text = readText(values, name)
  return text === 'null' ? null : text === 'true'
}
