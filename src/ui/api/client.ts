/**
 * Typed requests to the daemon: `api` for the interface in the chosen workspace, `sessionApi` for what only people in
 * a browser need. `unwrap` gives the body of a success and throws an ApiError for everything else.
 *
 *     const { data } = await unwrap(api.GET('/v1/domains', { params: { query: { limit: 50 } } }))
 */
import createClient, { type Middleware } from 'openapi-fetch'
import { session, workspace } from '../session/session-state.ts'
import { toApiError, toNetworkError } from './api-error.ts'
import type { paths } from './schema.d.ts'
import type { paths as sessionPaths } from './session-schema.d.ts'

const BASE_URL = '/ui/api'

/** The header that names the workspace of a request. */
export const WORKSPACE_HEADER = 'X-Workspace-Id'

export const api = createClient<paths>({ baseUrl: BASE_URL })
export const sessionApi = createClient<sessionPaths>({ baseUrl: BASE_URL })

const nameWorkspace: Middleware = {
  onRequest: ({ request }) => {
    const id = workspace.value?.id
    if (id !== undefined) request.headers.set(WORKSPACE_HEADER, id)
    return request
  },
}

/** An answer 401 to a request of the interface ends the session; that of a session route is about a password. */
const noticeEnd: Middleware = {
  onResponse: ({ response }) => {
    if (response.status === 401) endSession()
    return undefined
  },
}

api.use(nameWorkspace, noticeEnd)

export function endSession(): void {
  if (session.value.kind === 'present') session.value = { kind: 'none', ended: true }
}

interface FetchedAnswer<Data> {
  readonly data?: Data
  readonly error?: unknown
  readonly response: Response
}

/** The body of a success; undefined for 204. */
export async function unwrap<Answer extends FetchedAnswer<unknown>>(
  request: Promise<Answer>,
): Promise<Exclude<Answer['data'], undefined>> {
  const { data, error, response } = await request.catch(() => {
    throw toNetworkError()
  })
  if (error !== undefined || !response.ok) throw toApiError(response.status, error)
  return data as Exclude<Answer['data'], undefined>
}

/** The address of a download in the chosen workspace, for a link. */
export function downloadUrl(path: string): string {
  return `${BASE_URL}${path}`
}
