/** Adds a domain. */
import type { VNode } from 'preact'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { ButtonLink } from '../../components/button.tsx'
import { CheckField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFlag, readText } from '../../components/form-values.ts'
import { Page } from '../../components/page.tsx'

export function NewDomainPage(): VNode {
  const [, navigate] = useLocation()
  const add = async (values: FormData): Promise<void> => {
    const body = { domain: readText(values, 'domain'), inbound: readFlag(values, 'inbound') }
    const { id } = await unwrap(api.POST('/v1/domains', { body }))
    navigate(`/domains/${id}`)
  }
  return (
    <Page title="Add a domain" up={{ href: '/domains', label: 'Domains' }}>
      <Form onSubmit={add}>
        <TextField
          name="domain"
          label="Domain"
          placeholder="example.com"
          inputMode="url"
          hint="The part of your sender addresses after the @. You can use a subdomain, such as news.example.com."
        />
        <CheckField
          name="inbound"
          label="Receive mail for this domain"
          hint="This needs an MX record too. You can turn it on later."
        />
        <FormActions>
          <SubmitButton>Add the domain</SubmitButton>
          <ButtonLink href="/domains" tone="quiet">
            Cancel
          </ButtonLink>
        </FormActions>
      </Form>
    </Page>
  )
}
