/** Writes a broadcast, or changes a draft. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useLocation, useSearchParams } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Note } from '../../components/values.tsx'
import { type Broadcast, loadChoices } from './broadcast.ts'
import { DraftEditor } from './draft-editor.tsx'

/**
 * The address may name the audience of a new draft. After its first save, it names the draft, so that it is found again when the page is
 * loaded again.
 */
export function NewDraftPage(): VNode {
  const [search, setSearch] = useSearchParams()
  const [first] = useState(search.get('draft'))
  const [audienceId] = useState(search.get('audience') ?? '')
  const keep = ({ id }: Broadcast): void => {
    if (search.get('draft') !== id) setSearch({ draft: id }, { replace: true })
  }
  return (
    <Page title="Write a broadcast" up={{ href: '/broadcasts', label: 'Broadcasts' }}>
      <LoadedDraft id={first} audienceId={audienceId} onSaved={keep} />
    </Page>
  )
}

interface LoadedDraftProps {
  /** Null means a new draft. */
  readonly id: string | null
  /** The audience of a new draft. */
  readonly audienceId?: string
  readonly onSaved?: (draft: Broadcast) => void
  readonly onLoaded?: (draft: Broadcast) => void
}

function LoadedDraft({ id, audienceId = '', onSaved, onLoaded }: LoadedDraftProps): VNode {
  const [, navigate] = useLocation()
  const [round, setRound] = useState(0)
  const known = useRef(id)
  const loading = useLoad(async () => {
    const [draft, choices] = await Promise.all([
      known.current === null ? null : loadBroadcast(known.current),
      loadChoices(),
    ])
    if (draft !== null) onLoaded?.(draft)
    return { draft, choices, round }
  }, [round])
  const handleSaved = (draft: Broadcast): void => {
    known.current = draft.id
    onSaved?.(draft)
  }
  const finish = (draft: Broadcast): void => {
    notify('The draft is saved.')
    navigate(`/broadcasts/${draft.id}`)
  }
  return (
    <Loaded from={loading}>
      {({ draft, choices, round: version }) => {
        if (draft !== null && draft.status !== 'draft') return <NoDraft />
        if (choices.audiences.length === 0) return <NoAudience />
        const given = draft === null ? {} : { draft }
        return (
          <DraftEditor
            key={version}
            {...{ choices, ...given, audienceId, onSaved: handleSaved, onDone: finish }}
            onReload={() => setRound(round + 1)}
          />
        )
      }}
    </Loaded>
  )
}

function loadBroadcast(id: string): Promise<Broadcast> {
  return unwrap(api.GET('/v1/broadcasts/{id}', { params: { path: { id } } }))
}

function NoDraft(): VNode {
  return (
    <Note tone="warn">
      <p>This broadcast is no longer a draft, so you cannot change it.</p>
    </Note>
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
  const [name, setName] = useState<string | null>(null)
  return (
    <Page
      title={name === null ? 'Change a draft' : `Change “${name}”`}
      up={{ href: `/broadcasts/${id}`, label: name ?? 'Broadcast' }}
    >
      <LoadedDraft id={id} onLoaded={(draft) => setName(draft.name)} />
    </Page>
  )
}
