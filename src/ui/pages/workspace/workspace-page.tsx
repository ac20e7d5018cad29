/** The workspace: its name and picture, and its deletion. */
import { Fragment, type VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { mayAdminister, workspace } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Copy, Facts, StatusBadge, Time } from '../../components/values.tsx'
import { readSession } from '../../session/sign-in.ts'
import { RecipientFields, readRecipientValues, toLanguageName } from './recipient-fields.tsx'
import { type PartProps, WorkspaceDeletion } from './workspace-deletion.tsx'
import { readWorkspaceValues, WorkspaceFields } from './workspace-fields.tsx'

type FactList = Parameters<typeof Facts>[0]['facts']

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
            {data.role === 'owner' ? <WorkspaceDeletion shown={data} /> : null}
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** Who can change the settings sees them in the form. */
function listSettings({ name, language, postal_address: address }: PartProps['shown']): FactList {
  return [
    { name: 'Name', value: name },
    { name: 'Language of recipients', value: toLanguageName(language) },
    { name: 'Postal address', value: address === null ? 'None' : <AddressLines address={address} /> },
  ]
}

function WorkspaceFacts({ shown }: PartProps): VNode {
  const { id, slug, role, member_count: members, created_at: created } = shown
  return (
    <Facts
      facts={[
        ...(mayAdminister.value ? [] : listSettings(shown)),
        { name: 'Short name', value: <code>{slug}</code> },
        { name: 'Your role', value: <StatusBadge status={role} tone="info" /> },
        { name: 'Members', value: formatNumber(members) },
        { name: 'Created', value: <Time at={created} kind="day" /> },
        { name: 'ID', value: <Copy text={id} label="the ID of the workspace" /> },
      ]}
    />
  )
}

function AddressLines({ address }: { readonly address: string }): VNode {
  const lines = address.split('\n')
  return (
    <>
      {lines.map((line, at) => (
        <Fragment key={at}>
          {at === 0 ? null : <br />}
          {line}
        </Fragment>
      ))}
    </>
  )
}

function Settings({ shown, onSaved }: PartProps & { readonly onSaved: () => void }): VNode {
  const save = async (values: FormData): Promise<void> => {
    const params = { path: { id: shown.id } }
    await unwrap(
      api.PATCH('/v1/workspaces/{id}', {
        params,
        body: { ...readWorkspaceValues(values), ...readRecipientValues(values) },
      }),
    )
    await readSession()
    onSaved()
    notify('The settings are saved.')
  }
  return (
    <Section title="Settings">
      <Form onSubmit={save}>
        <WorkspaceFields name={shown.name} iconUrl={shown.icon_url} />
        <RecipientFields language={shown.language} postalAddress={shown.postal_address} />
        <FormActions>
          <SubmitButton>Save the settings</SubmitButton>
        </FormActions>
      </Form>
    </Section>
  )
}
