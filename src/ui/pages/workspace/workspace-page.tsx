/** The workspace: its name and picture, and its deletion. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Copy, Facts, Note, StatusBadge, Time } from '../../components/values.tsx'
import { mayAdminister, workspace } from '../../session/session-state.ts'
import { readSession } from '../../session/sign-in.ts'
import { notify } from '../../shell/notices.tsx'
import { readWorkspaceValues, WorkspaceFields } from './workspace-fields.tsx'

type Workspace = components['schemas']['DetailedWorkspace']

interface PartProps {
  readonly shown: Workspace
}

export function WorkspacePage(): VNode {
  const id = workspace.value?.id ?? ''
  const shown = useLoad(() => unwrap(api.GET('/v1/workspaces/{id}', { params: { path: { id } } })), [id])
  return (
    <Page title="Workspace" actions={<ButtonLink href="/workspace/new">Create another workspace</ButtonLink>}>
      <Loaded from={shown}>
        {({ data }) => (
          <>
            <WorkspaceFacts shown={data} />
            {mayAdminister.value ? <Settings shown={data} onSaved={shown.reload} /> : null}
            {data.role === 'owner' ? <Deletion shown={data} /> : null}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function WorkspaceFacts({ shown }: PartProps): VNode {
  const { id, name, slug, role, member_count: members, created_at: created } = shown
  return (
    <>
      <Facts
        facts={[
          { name: 'Name', value: name },
          { name: 'Short name', value: <code>{slug}</code> },
          { name: 'Your role', value: <StatusBadge status={role} tone="info" /> },
          { name: 'Members', value: formatNumber(members) },
          { name: 'Created', value: <Time at={created} kind="day" /> },
        ]}
      />
      <p class="facts-more">
        Id: <Copy text={id} label="the id of the workspace" />
      </p>
    </>
  )
}

function Settings({ shown, onSaved }: PartProps & { readonly onSaved: () => void }): VNode {
  const save = async (values: FormData): Promise<void> => {
    const params = { path: { id: shown.id } }
    await unwrap(api.PATCH('/v1/workspaces/{id}', { params, body: readWorkspaceValues(values) }))
    await readSession()
    onSaved()
    notify('The settings are saved.')
  }
  return (
    <Section title="Settings">
      <Form onSubmit={save}>
        <WorkspaceFields name={shown.name} iconUrl={shown.icon_url} />
        <FormActions>
          <SubmitButton>Save the settings</SubmitButton>
        </FormActions>
      </Form>
    </Section>
  )
}

function Deletion({ shown: { id, name } }: PartProps): VNode {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  if (workspace.value?.is_operator === true) {
    return (
      <Section title="Delete the workspace">
        <Note tone="info">
          <p>
            This is the workspace of the operator, which receives mail to the postmaster of the service. It can be
            deleted after another one was chosen with <code>posthorn workspace set-operator</code>.
          </p>
        </Note>
      </Section>
    )
  }
  const leave = (): void => navigate('/')
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/workspaces/{id}', { params: { path: { id } } }))
    notify(`The workspace “${name}” is deleted.`)
    leave()
    await readSession()
  }
  return (
    <Section title="Delete the workspace" intro="Its domains, keys, mail, contacts and members are erased.">
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete {name}
      </Button>
      {open ? (
        <ConfirmDialog
          title={`Delete the workspace “${name}”?`}
          name={name}
          action="Delete the workspace"
          onConfirm={remove}
          onClose={() => setOpen(false)}
        >
          <p>Its keys stop working at once, its queued mail is not sent, and all of its records are erased.</p>
          <p>This cannot be undone.</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  )
}
