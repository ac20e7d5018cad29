/**
 * The access log: one line at level info for each request, when its answer has ended.
 *
 * Health probes, and requests for pixels and links of mail, which become events, are logged at level debug. Lines about unauthenticated and refused requests are
 * limited for each client; all others are written. A line never has the query, the body, or more of
 * a key than its prefix.
 */

import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal, type RefusalKind } from '../../../../base/mail/refusal.js'
import type { Clock } from '../../../../base/platform/clock.js'
import type { ClientLog } from '../../../../base/platform/connections/client-log.js'
import type { Log } from '../../../../base/platform/log.js'
import { keyPrefixOf } from '../../../../workspaces/accounts/keys/api-keys.js'
import type { ApiContext } from './api-context.js'
import type { RequestIdentity } from './request-identity.js'

interface AccessLogDeps {
  readonly log: Pick<Log, 'debug' | 'info' | 'isLevelEnabled'>
  readonly lines: ClientLog
  readonly clock: Clock
}

/** `path`: below the version. `isQuiet`: the line is one for debugging. */
export function logOnClose(ctx: ApiContext, path: string, isQuiet: boolean, deps: AccessLogDeps): void {
  const { log } = deps
  if (log.isLevelEnabled(isQuiet ? 'debug' : 'info')) ctx.res.once('close', () => logRequest(ctx, path, isQuiet, deps))
}

/** The page of the log asks for it again and again: lines about that would hide all others. */
const LOG_ROUTE = '/ui/api/operator/log'

type LogLine = { client: string } & Record<string, unknown>

/** Builds the line field by field, since this is done for every request. */
function logRequest(ctx: ApiContext, path: string, isQuiet: boolean, { log, lines, clock }: AccessLogDeps): void {
  const { identity, route, bytes = 0, code, emails = [] } = ctx.state
  const { principal, session, requestId, startedAt } = identity
  const { method, res } = ctx
  const line: LogLine = { client: identity.remoteAddress, method }
  if (route === undefined) line['path'] = formatForDisplay(path)
  else line['route'] = route
  if (res.headersSent) line['status'] = res.statusCode
  line['ms'] = clock() - startedAt
  line['bytes'] = bytes
  const key = findKeyPrefix(ctx)
  if (key !== null) line['key'] = key
  if (principal !== null) line['workspace'] = principal.workspaceId
  if (session !== undefined) line['user'] = session.userId
  if (code !== undefined) line['code'] = code
  if (emails.length > 0) line['emails'] = emails
  if (!res.writableFinished) line['broken'] = true
  line['requestId'] = requestId
  if (isQuiet || (route === LOG_ROUTE && code === undefined)) log.debug(line, 'request')
  else if ((principal === null && session === undefined) || (code !== undefined && res.statusCode < 500))
    lines.info(line, 'request')
  else log.info(line, 'request')
}

const wrongKeyKinds: ReadonlySet<RefusalKind> = new Set<RefusalKind>(['bad-credentials', 'key-expired', 'forbidden'])

/** Logs a warning when a request is refused because of its key. */
export function logFailedLogin(ctx: ApiContext, error: unknown, { lines }: Pick<AccessLogDeps, 'lines'>): void {
  const { identity } = ctx.state
  if (error instanceof Refusal && error.kind === 'wrong-password') logFailedSignIn(identity, error, lines)
  if (error !== identity.fault || !(error instanceof Refusal) || !wrongKeyKinds.has(error.kind)) return
  if (error.details['origin'] !== undefined) return // a page in a browser: its key was not checked
  const { remoteAddress: client, requestId } = identity
  const key = findKeyPrefix(ctx)
  const about = { client, ...(key === null ? {} : { key }), listener: 'api', reason: error.message, requestId }
  lines.warn(about, 'a login failed')
}

/** The address that was entered is not logged: people type passwords into the wrong field. */
function logFailedSignIn(
  { remoteAddress: client, requestId }: RequestIdentity,
  error: Refusal,
  lines: ClientLog,
): void {
  lines.warn({ client, listener: 'api', reason: error.message, requestId }, 'a sign-in failed')
}

function findKeyPrefix({ req }: ApiContext): string | null {
  const { authorization } = req.headers
  return authorization === undefined ? null : keyPrefixOf(authorization.replace(/^Bearer +/i, ''))
}
