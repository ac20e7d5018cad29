/** Writes a broadcast, or changes a draft. */
import type { VNode } from 'preact'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Note } from '../../components/values.tsx'
import { loadChoices } from './broadcast.ts'
import { DraftEditor, readDraft } from './draft-editor.tsx'

export function NewDraftPage(): VNode {
  const [, navigate] = useLocation()
  const choices = useLoad(loadChoices)
  const create = async (values: FormData): Promise<void> => {
    const { name, audience_id, from, reply_to, subject, html, text, template_id } = readDraft(values)
    const words = template_id === null ? { subject, html, text } : { template_id }
    const { id } = await unwrap(api.POST('/v1/broadcasts', { body: { name, audience_id, from, reply_to, ...words } }))
    notify('The draft is saved.')
    navigate(`/broadcasts/${id}`)
  }
  return (
    <Page title="Write a broadcast" up={{ href: '/broadcasts', label: 'Broadcasts' }}>
      <Loaded from={choices}>
        {(given) => (given.audiences.length === 0 ? <NoAudience /> : <DraftEditor choices={given} onSubmit={create} />)}
      </Loaded>
    </Page>
  )
}

function NoAudience(): VNode {
  return (
    <Empty title="There is no audience to write to">
      <p>A broadcast goes to the subscribed contacts of an audience.</p>
      <ButtonLink href="/audiences/new" tone="primary">
        Create an audience
      </ButtonLink>
    </Empty>
  )
}

export function DraftPage({ params: { id = '' } }: PageProps): VNode {
  const [, navigate] = useLocation()
  const path = { id }
  const loading = useLoad(async () => {
    const [broadcast, choices] = await Promise.all([
      unwrap(api.GET('/v1/broadcasts/{id}', { params: { path } })),
      loadChoices(),
    ])
    return { broadcast, choices }
  }, [id])
  const save = async (values: FormData): Promise<void> => {
    const { subject, html, text, template_id, reply_to: replyTo, ...common } = readDraft(values)
    const words = template_id === null ? { template_id, subject, html, text } : { template_id }
    // The server takes an empty list as absent.
    const reply_to = replyTo.length === 0 ? null : replyTo
    await unwrap(api.PATCH('/v1/broadcasts/{id}', { params: { path }, body: { ...common, reply_to, ...words } }))
    notify('The draft is saved.')
    navigate(`/broadcasts/${id}`)
  }
  const name = loading.data?.broadcast.name
  return (
    <Page
      title={name === undefined ? 'Change a draft' : `Change “${name}”`}
      up={{ href: `/broadcasts/${id}`, label: name ?? 'Broadcast' }}
    >
      <Loaded from={loading}>
        {({ broadcast, choices }) =>
          broadcast.status === 'draft' ? (
            <DraftEditor choices={choices} draft={broadcast} onSubmit={save} />
          ) : (
            <Note tone="warn">
              <p>This broadcast is no longer a draft, so you cannot change it.</p>
            </Note>
          )
        }
      </Loaded>
    </Page>
  )
}
