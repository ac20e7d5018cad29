/** Adds an address to the suppression list. */
import type { VNode } from 'preact'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { ButtonLink } from '../../components/button.tsx'
import { SelectField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import { findReason, reasonOptions } from './suppression.ts'

export function NewSuppressionPage(): VNode {
  const [, navigate] = useLocation()
  const add = async (values: FormData): Promise<void> => {
    const body = { email: readText(values, 'email'), reason: findReason(readText(values, 'reason')) ?? 'manual' }
    const { email } = await unwrap(api.POST('/v1/suppressions', { body }))
    notify(`${email} is suppressed.`)
    navigate('/suppressions')
  }
  return (
    <Page title="Suppress an address" up={{ href: '/suppressions', label: 'Suppressions' }}>
      <Form onSubmit={add}>
        <TextField
          name="email"
          label="Address"
          type="email"
          inputMode="email"
          placeholder="bob@example.com"
          hint="Posthorn refuses mail to it until you remove it from the list."
        />
        <SelectField name="reason" label="Reason" options={reasonOptions} value="manual" />
        <FormActions>
          <SubmitButton>Suppress the address</SubmitButton>
          <ButtonLink href="/suppressions" tone="quiet">
            Cancel
          </ButtonLink>
        </FormActions>
      </Form>
    </Page>
  )
}
