/**
 * Has a small message analyzed by the thread that authenticates it, unless it was being read when the daemon crashed
 * (`early-analysis.ts`).
 */
import type { AuthenticateInbound } from '../accept-inbound.js'
import type { EarlyAnalyzer } from '../early-analysis.js'
import type { Authenticate } from './message-threads.js'

export function guardAuthentication(
  authenticate: Authenticate,
  guardMessage: EarlyAnalyzer['guardMessage'],
): AuthenticateInbound {
  return async (raw, header, connection, asked) => {
    if (asked === null) return authenticate(raw, header, connection, null)
    const guard = guardMessage(raw, asked.workspaceId)
    if (guard.isFeared) return authenticate(raw, header, connection, null)
    guard.begin()
    return authenticate(raw, header, connection, asked.trace).finally(guard.finish)
  }
}
