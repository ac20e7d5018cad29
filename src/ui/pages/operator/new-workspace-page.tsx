/** Creates a workspace with its owner. Then it shows once the link by which the owner sets a password. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { paths } from '../../api/session-schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { ButtonLink } from '../../components/button.tsx'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { PasswordLink } from './password-link.tsx'
import { loadPlans, PlanField } from './plan-field.tsx'

type Created = paths['/ui/api/operator/workspaces']['post']['responses'][201]['content']['application/json']

const up = { href: '/operator/workspaces', label: 'All workspaces' }

export function NewWorkspacePage(): VNode {
  const plans = useLoad(loadPlans)
  const [created, setCreated] = useState<Created | null>(null)
  if (created !== null) return <CreatedPage created={created} />
  const create = async (values: FormData): Promise<void> => setCreated(await createWorkspace(values))
  return (
    <Page
      title="Create a workspace"
      up={up}
      intro="A workspace is for another team or customer. Only its members see its mail in the dashboard."
    >
      <Loaded from={plans}>
        {(data) => (
          <Form onSubmit={create}>
            <TextField name="name" label="Name" maxLength={100} />
            <TextField
              name="email"
              label="E-mail address of the owner"
              type="email"
              hint="An existing account keeps its password. For a new account you get a link that sets the password."
            />
            <PlanField plans={data} value={data.default_plan} />
            <FormActions>
              <SubmitButton>Create the workspace</SubmitButton>
              <ButtonLink href={up.href} tone="quiet">
                Cancel
              </ButtonLink>
            </FormActions>
          </Form>
        )}
      </Loaded>
    </Page>
  )
}

async function createWorkspace(values: FormData): Promise<Created> {
  const body = { name: readText(values, 'name'), email: readText(values, 'email'), plan: readText(values, 'plan') }
  return unwrap(sessionApi.POST('/ui/api/operator/workspaces', { body }))
}

function CreatedPage({ created: { workspace, password_link: link } }: { readonly created: Created }): VNode {
  const { id, name, owner } = workspace
  return (
    <Page title="The workspace is created" up={up}>
      {link === null ? (
        <p>
          {owner.email} owns “{name}” and signs in with the existing password.
        </p>
      ) : (
        <PasswordLink link={link} email={owner.email} />
      )}
      <ButtonLink href={`/operator/workspaces/${id}`}>Open the workspace</ButtonLink>
    </Page>
  )
}
