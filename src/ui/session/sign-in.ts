/** Begins and ends the session of this browser. */
import { asApiError } from '../api/api-error.ts'
import { sessionApi, unwrap } from '../api/client.ts'
import { type SessionInfo, session } from './session-state.ts'

/** Reads the session that the cookie names, when the page is loaded and after changes of the user's account. */
export async function readSession(): Promise<void> {
  try {
    session.value = { kind: 'present', info: await unwrap(sessionApi.GET('/ui/api/session')) }
  } catch (thrown) {
    const { status, message } = asApiError(thrown)
    session.value = status === 401 ? { kind: 'none', ended: false } : { kind: 'failed', message }
  }
}

export function beginSession(info: SessionInfo): void {
  session.value = { kind: 'present', info }
}

export async function signOut(): Promise<void> {
  await unwrap(sessionApi.DELETE('/ui/api/session'))
  session.value = { kind: 'none', ended: false }
}
