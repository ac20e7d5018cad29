/** All templates of the workspace. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Time } from '../../components/values.tsx'

type ListedTemplate = components['schemas']['ListedTemplate']

/** Names that a row shows. */
const MAX_SHOWN = 6

export function TemplateListPage(): VNode {
  const pages = usePages(loadTemplates)
  return (
    <Page
      title="Templates"
      intro="Subjects and bodies with variables, for single emails and broadcasts."
      actions={
        <>
          <ButtonLink href="/templates/new" tone="primary">
            Create a template
          </ButtonLink>
          <ButtonLink href="/files">Store a file</ButtonLink>
        </>
      }
    >
      <PagedTable
        caption="Templates of this workspace"
        pages={pages}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No template yet">
            <p>
              Programs send a template by its id with values for its variables. So you can change texts without a
              release.
            </p>
          </Empty>
        }
      />
    </Page>
  )
}

const columns: readonly Column<ListedTemplate>[] = [
  { title: 'Name', show: ({ id, name }) => <Link href={`/templates/${id}`}>{name}</Link> },
  { title: 'Subject', show: ({ subject }) => subject || '–' },
  { title: 'Variables', show: ({ variables }) => formatNames(variables) },
  { title: 'Changed', show: ({ updated_at: at }) => <Time at={at} /> },
]

function formatNames(names: readonly string[]): string {
  if (names.length === 0) return 'None'
  const more = names.length > MAX_SHOWN ? `, and ${names.length - MAX_SHOWN} more` : ''
  return `${names.slice(0, MAX_SHOWN).join(', ')}${more}`
}

function loadTemplates(position: string | undefined): Promise<ListPage<ListedTemplate>> {
  return loadOffsetPage(position, (range) => unwrap(sessionApi.GET('/ui/api/templates', { params: { query: range } })))
}
