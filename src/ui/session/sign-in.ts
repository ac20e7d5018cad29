/** Begins and ends the session of this browser. */
import { asApiError } from '../api/api-error.ts'
import { sessionApi, unwrap } from '../api/client.ts'
import { type SessionInfo, session, sessionInfo } from '../api/session-state.ts'

/**
 * Reads the session that the cookie names: when the page is loaded, after a change of the user's account, and when
 * the tab is shown again. While the server does not answer, the shown page stays.
 */
export async function readSession(): Promise<void> {
  try {
    const info = await unwrap(sessionApi.GET('/ui/api/session'))
    if (JSON.stringify(info) !== JSON.stringify(sessionInfo.value)) beginSession(info)
  } catch (thrown) {
    const { status, message } = asApiError(thrown)
    const { kind } = session.value
    if (kind === 'present' || kind === 'none') return
    session.value = status === 401 ? { kind: 'none', ended: false } : { kind: 'failed', message }
  }
}

/**
 * Reads the session again, because another tab may have signed out or in as another user, and a role may have
 * changed.
 */
export function readSessionWhenShown(): void {
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void readSession()
  })
}

export function beginSession(info: SessionInfo): void {
  session.value = { kind: 'present', info }
}

export async function signOut(): Promise<void> {
  await unwrap(sessionApi.DELETE('/ui/api/session'))
  session.value = { kind: 'none', ended: false }
}
