/** All workspaces of the service by name, with a search by the beginning. Each page chooses the columns. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { type ListPage, toCursorPage, usePages } from '../../api/use-pages.ts'
import { TextField } from '../../components/fields.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { Empty } from '../../components/loaded.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import type { OperatedWorkspace } from './operator-types.ts'

interface WorkspaceTableProps {
  readonly caption: string
  readonly columns: readonly Column<OperatedWorkspace>[]
}

const filterNames = ['search'] as const

export function WorkspaceTable({ caption, columns }: WorkspaceTableProps): VNode {
  const filters = useFilters(filterNames)
  const pages = usePages((cursor) => loadWorkspaces(filters.get('search'), cursor), [filters.key])
  return (
    <>
      <Filters names={filterNames} filters={filters}>
        <TextField
          name="search"
          label="The name begins with"
          type="search"
          optional
          maxLength={100}
          value={filters.get('search')}
        />
      </Filters>
      <PagedTable
        caption={caption}
        pages={pages}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<Empty title={filters.isFiltered ? 'No workspace has such a name' : 'No workspace yet'} />}
      />
    </>
  )
}

async function loadWorkspaces(search: string, cursor: string | undefined): Promise<ListPage<OperatedWorkspace>> {
  const query = { ...(search === '' ? {} : { search }), ...(cursor === undefined ? {} : { cursor }) }
  return toCursorPage(await unwrap(sessionApi.GET('/ui/api/operator/workspaces', { params: { query } })))
}
