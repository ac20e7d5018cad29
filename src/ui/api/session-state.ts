/** Keeps who is signed in and in which workspace, as signals that all pages read. */
import { computed, signal } from '@preact/signals'
import type { paths } from './session-schema.d.ts'

export type SessionInfo = paths['/ui/api/session']['get']['responses'][200]['content']['application/json']
type Membership = SessionInfo['workspaces'][number]

type SessionState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly message: string }
  /** `ended` means that there was a session and that it is over. */
  | { readonly kind: 'none'; readonly ended: boolean }
  | { readonly kind: 'present'; readonly info: SessionInfo }

/** The key of the choice in the browser's storage. */
const CHOSEN_KEY = 'posthorn.workspace'

export const session = signal<SessionState>({ kind: 'loading' })
const chosenId = signal(readChosenId())

export const sessionInfo = computed(() => (session.value.kind === 'present' ? session.value.info : null))

/** The workspace that the pages show. It is null if the user belongs to none. */
export const workspace = computed((): Membership | null => {
  const { workspaces = [] } = sessionInfo.value ?? {}
  return workspaces.find(({ id }) => id === chosenId.value) ?? workspaces[0] ?? null
})

/** Owners and admins change the workspace; members read it and send. */
export const mayAdminister = computed(() => workspace.value !== null && workspace.value.role !== 'member')

export const mayOperate = computed(() => {
  const { workspaces = [] } = sessionInfo.value ?? {}
  return workspaces.some(({ is_operator: isOperator, role }) => isOperator && role !== 'member')
})

export function chooseWorkspace(id: string): void {
  chosenId.value = id
  try {
    sessionStorage.setItem(CHOSEN_KEY, id)
    localStorage.setItem(CHOSEN_KEY, id)
  } catch {
    // Without storage, the choice lasts until the page is loaded again.
  }
}

/** Each tab keeps its own choice. A new tab begins with the last one. */
function readChosenId(): string | null {
  try {
    return sessionStorage.getItem(CHOSEN_KEY) ?? localStorage.getItem(CHOSEN_KEY)
  } catch {
    return null
  }
}
