/** Creates another workspace and shows it. */
import type { VNode } from 'preact'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { chooseWorkspace } from '../../api/session-state.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import { readSession } from '../../session/sign-in.ts'
import { readWorkspaceValues, WorkspaceFields } from './workspace-fields.tsx'

export function NewWorkspacePage(): VNode {
  const [, navigate] = useLocation()
  const create = async (values: FormData): Promise<void> => {
    const { data } = await unwrap(api.POST('/v1/workspaces', { body: readWorkspaceValues(values) }))
    await readSession()
    navigate('/')
    chooseWorkspace(data.id)
    notify(`The workspace “${data.name}” is created. The dashboard shows it now.`)
  }
  return (
    <Page
      title="Create a workspace"
      up={{ href: '/workspace', label: 'Workspace' }}
      intro="A workspace has its own domains, keys, mail and members. You will be its owner."
    >
      <Form onSubmit={create}>
        <WorkspaceFields />
        <FormActions>
          <SubmitButton>Create the workspace</SubmitButton>
          <ButtonLink href="/workspace" tone="quiet">
            Cancel
          </ButtonLink>
        </FormActions>
      </Form>
    </Page>
  )
}
