/** One audience: its numbers, its contacts, import and export, settings, deletion. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, saveFile, sessionApi, unwrap } from '../../api/client.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Tabs } from '../../components/tabs.tsx'
import { Facts, Time } from '../../components/values.tsx'
import type { Audience } from './audience.ts'
import { AudienceFields, readAudience } from './audience-fields.tsx'
import { ContactList } from './contact-list.tsx'

export function AudiencePage({ params: { id = '' } }: PageProps): VNode {
  const audience = useLoad(() => unwrap(api.GET('/v1/audiences/{id}', { params: { path: { id } } })), [id])
  const actions = (
    <>
      <ButtonLink href={`/contacts/new?audience=${id}`} tone="primary">
        Add a contact
      </ButtonLink>
      <ButtonLink href={`/broadcasts/new?audience=${id}`}>Write a broadcast</ButtonLink>
      <ButtonLink href={`/audiences/${id}/import`}>Import</ButtonLink>
      <Button onClick={() => saveFile(`/v1/audiences/${id}/export`, `${audience.data?.name ?? 'contacts'}.csv`)}>
        Export
      </Button>
    </>
  )
  return (
    <Page
      title={audience.data?.name ?? 'Audience'}
      up={{ href: '/audiences', label: 'Audiences' }}
      intro={audience.data?.description ?? undefined}
      actions={audience.data === undefined ? undefined : actions}
    >
      <Loaded from={audience}>{(data) => <AudienceParts audience={data} from={audience} />}</Loaded>
    </Page>
  )
}

interface PartsProps {
  readonly audience: Audience
  readonly from: Loading<Audience>
}

function AudienceParts({ audience, from }: PartsProps): VNode {
  const { id, contacts_count: count, created_at: created } = audience
  const path = { id }
  const numbers = useLoad(
    () => unwrap(sessionApi.GET('/ui/api/audiences/{id}/numbers', { params: { path } })),
    [id, count],
  )
  const { data } = numbers
  return (
    <>
      <Facts
        facts={[
          { name: 'Contacts', value: formatNumber(count) },
          { name: 'Subscribed', value: data === undefined ? '…' : formatNumber(data.subscribed) },
          { name: 'Unsubscribed', value: data === undefined ? '…' : formatNumber(data.contacts - data.subscribed) },
          { name: 'Created', value: <Time at={created} kind="day" /> },
        ]}
      />
      <Tabs
        label={`Parts of ${audience.name}`}
        tabs={[
          {
            id: 'contacts',
            title: 'Contacts',
            show: () => <ContactList audienceId={id} onChanged={() => [from, numbers].map(({ reload }) => reload())} />,
          },
          { id: 'settings', title: 'Settings', show: () => <AudienceSettings audience={audience} from={from} /> },
        ]}
      />
    </>
  )
}

function AudienceSettings({ audience, from }: PartsProps): VNode {
  const { id } = audience
  const save = async (values: FormData): Promise<void> => {
    from.replace(
      await unwrap(api.PATCH('/v1/audiences/{id}', { params: { path: { id } }, body: readAudience(values) })),
    )
    notify('The audience is saved.')
  }
  return (
    <>
      <Section title="Name and description">
        <Form onSubmit={save}>
          <AudienceFields audience={audience} />
          <FormActions>
            <SubmitButton>Save the audience</SubmitButton>
          </FormActions>
        </Form>
      </Section>
      <AudienceDeletion audience={audience} />
    </>
  )
}

function AudienceDeletion({ audience: { id, name, contacts_count: count } }: Pick<PartsProps, 'audience'>): VNode {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/audiences/{id}', { params: { path: { id } } }))
    notify(`The audience “${name}” is deleted.`)
    navigate('/audiences')
  }
  return (
    <Section title="Delete the audience" intro="Its contacts are deleted with it.">
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete the audience
      </Button>
      {open ? (
        <ConfirmDialog
          title={`Delete “${name}”?`}
          name={name}
          action={`Delete it with ${formatNumber(count)} ${count === 1 ? 'contact' : 'contacts'}`}
          onConfirm={remove}
          onClose={() => setOpen(false)}
        >
          <p>The audience and all its contacts are deleted. You cannot restore them, so export them first.</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  )
}
