/** Loads pages of all workspaces. */
import { sessionApi, unwrap } from '../../api/client.ts'
import { type ListPage, toCursorPage } from '../../api/use-pages.ts'
import type { OperatedWorkspace } from './operator-types.ts'

export async function loadWorkspaces(search: string, cursor: string | undefined): Promise<ListPage<OperatedWorkspace>> {
  const query = { ...(search === '' ? {} : { search }), ...(cursor === undefined ? {} : { cursor }) }
  return toCursorPage(await unwrap(sessionApi.GET('/ui/api/operator/workspaces', { params: { query } })))
}
