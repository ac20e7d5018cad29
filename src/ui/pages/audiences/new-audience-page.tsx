/** Creates an audience. */
import type { VNode } from 'preact'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { Page } from '../../components/page.tsx'
import { AudienceFields, readAudience } from './audience-fields.tsx'

export function NewAudiencePage(): VNode {
  const [, navigate] = useLocation()
  const create = async (values: FormData): Promise<void> => {
    const { id } = await unwrap(api.POST('/v1/audiences', { body: readAudience(values) }))
    navigate(`/audiences/${id}`)
  }
  return (
    <Page title="Create an audience" up={{ href: '/audiences', label: 'Audiences' }}>
      <Form onSubmit={create}>
        <AudienceFields />
        <FormActions>
          <SubmitButton>Create the audience</SubmitButton>
          <ButtonLink href="/audiences" tone="quiet">
            Cancel
          </ButtonLink>
        </FormActions>
      </Form>
    </Page>
  )
}
