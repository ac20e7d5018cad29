/**
 * Typed requests to the daemon: `api` for the interface in the chosen workspace, `sessionApi` for
 * requests that only people in a browser make. `unwrap` gives the body of a success and throws an ApiError for everything else.
 *
 *     const { data } = await unwrap(api.GET('/v1/domains', { params: { query: { limit: 50 } } }))
 */
import createClient, { type Middleware } from 'openapi-fetch'
import { type ApiError, toApiError, toNetworkError } from './api-error.ts'
import type { paths } from './schema.d.ts'
import type { paths as sessionPaths } from './session-schema.d.ts'
import { session, workspace } from './session-state.ts'

const BASE_URL = '/ui/api'

/** The header that names the workspace of a request. */
const WORKSPACE_HEADER = 'X-Workspace-Id'

export const api = createClient<paths>({ baseUrl: BASE_URL })
export const sessionApi = createClient<sessionPaths>()

const nameWorkspace: Middleware = {
  onRequest: ({ request }) => {
    const id = workspace.value?.id
    if (id !== undefined) request.headers.set(WORKSPACE_HEADER, id)
    return request
  },
}

api.use(nameWorkspace)
sessionApi.use(nameWorkspace)

type FetchedAnswer<Data> =
  | { readonly data: Data; readonly error?: never; readonly response: Response }
  | { readonly data?: never; readonly error: object; readonly response: Response }

/** Returns the body of a success, or undefined for 204. */
export async function unwrap<Data>(request: Promise<FetchedAnswer<Data>>): Promise<Data> {
  const answer = await request.catch(() => {
    throw toNetworkError()
  })
  if ('error' in answer) throw toRefusal(answer.response.status, answer.error)
  return answer.data
}

/** Makes the error of a refused request. It ends the session of this page if the server no longer knows it. */
function toRefusal(status: number, body: unknown): ApiError {
  const error = toApiError(status, body)
  if (error.code === 'authentication_required' && error.details['second_factor'] !== true) endSession()
  return error
}

/** Shows the sign-in page in place of the present one. */
export function endSession(): void {
  if (session.value.kind === 'present') session.value = { kind: 'none', ended: true }
}

interface Upload {
  readonly body: { readonly file: string }
  readonly bodySerializer: () => FormData
}

/** Sends a file as the body of a request: `api.POST('/v1/suppressions/import', { ...toUpload(file) })`. */
export function toUpload(file: File): Upload {
  const form = new FormData()
  form.set('file', file)
  return { body: { file: file.name }, bodySerializer: () => form }
}

/** Milliseconds. Browsers read the file after the click. */
const KEEPS_FILE = 10_000

/** Fetches a file of the chosen workspace and saves it under `name`. Exports have separate links for this. */
export async function saveFile(path: `/v1/${string}`, name: string): Promise<void> {
  const headers = { [WORKSPACE_HEADER]: workspace.value?.id ?? '' }
  const response = await fetch(`${BASE_URL}${path}`, { headers }).catch(() => {
    throw toNetworkError()
  })
  if (!response.ok) throw toRefusal(response.status, await response.json().catch(() => null))
  saveBlob(await response.blob(), name)
}

/** Saves a text that the page already has. */
export function saveText(text: string, name: string): void {
  saveBlob(new Blob([text]), name)
}

function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), KEEPS_FILE)
}

export interface PlainRequest {
  readonly method: string
  /** It includes the query. */
  readonly path: `/v1/${string}`
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | FormData | null
}

export interface PlainAnswer {
  readonly status: number
  readonly type: string
  /** JSON with one field on a line. Long bodies are cut. */
  readonly text: string
}

/** Characters of an answer. */
const MAX_ANSWER = 100_000

/** Sends a request of the interface that a user wrote, in the chosen workspace. Refusals are answers too. */
export async function sendPlain({ method, path, headers, body }: PlainRequest): Promise<PlainAnswer> {
  const named = { ...headers, [WORKSPACE_HEADER]: workspace.value?.id ?? '' }
  const response = await fetch(`${BASE_URL}${path}`, { method, headers: named, body }).catch(() => {
    throw toNetworkError()
  })
  const type = response.headers.get('content-type') ?? ''
  const text = await response.text()
  const shown = type.startsWith('application/json') ? JSON.stringify(JSON.parse(text), null, 2) : text
  return { status: response.status, type, text: shown.slice(0, MAX_ANSWER) }
}
