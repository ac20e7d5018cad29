/**
 * The access log: one line at level info for each request, when its answer has ended.
 *
 * Health probes, and requests for pixels and links of mail, which become events, are logged at level debug. Lines
 * about unauthenticated and refused requests are limited for each client; all others are written. A line never has the
 * query, the body, a token in a path, or more of a key than its prefix.
 */

import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal, type RefusalKind } from '../../../../base/mail/refusal.js'
import type { Clock } from '../../../../base/platform/clock.js'
import type { ClientLog } from '../../../../base/platform/connections/client-log.js'
import type { Log } from '../../../../base/platform/log.js'
import { keyPrefixOf } from '../../../../workspaces/accounts/keys/api-keys.js'
import type { ApiContext } from '../context/api-context.js'
import { findKey } from '../context/request-key.js'

/** The page of the log polls it. Lines about that would hide all others. */
const LOG_ROUTE = '/ui/api/operator/log'

type LogLine = { client: string } & Record<string, unknown>

const wrongKeyKinds: ReadonlySet<RefusalKind> = new Set<RefusalKind>(['bad-credentials', 'key-expired', 'forbidden'])

/** The log of requests, and of refused keys and passwords. */
export class AccessLog {
  constructor(
    private readonly log: Log,
    /** Limits the lines about unauthenticated clients. */
    private readonly lines: ClientLog,
    private readonly clock: Clock,
  ) {}

  logOnClose(ctx: ApiContext): void {
    if (!this.log.isLevelEnabled(ctx.state.isQuiet ? 'debug' : 'info')) return
    // The client may have left while its key was looked up.
    if (ctx.res.closed) this.logRequest(ctx)
    else ctx.res.once('close', () => this.logRequest(ctx))
  }

  /** Builds the line field by field, since this is done for every request. */
  private logRequest(ctx: ApiContext): void {
    const { identity, route, bytes = 0, code, emails = [], isQuiet, shownPath } = ctx.state
    const { principal, session, requestId, startedAt } = identity
    const { method, res } = ctx
    const line: LogLine = { client: identity.remoteAddress, method }
    if (route === undefined) line['path'] = formatForDisplay(shownPath)
    else line['route'] = route
    if (res.headersSent) line['status'] = res.statusCode
    line['ms'] = this.clock() - startedAt
    line['bytes'] = bytes
    const key = findKeyPrefix(ctx)
    if (key !== null) line['key'] = key
    if (principal !== null) line['workspace'] = principal.workspaceId
    if (session !== null) line['user'] = session.userId
    if (code !== undefined) line['code'] = code
    if (emails.length > 0) line['emails'] = emails
    if (!res.writableFinished) line['broken'] = true
    line['requestId'] = requestId
    if (isQuiet || (route === LOG_ROUTE && code === undefined)) this.log.debug(line, 'request')
    else if ((principal === null && session === null) || (code !== undefined && res.statusCode < 500))
      this.lines.info(line, 'request')
    else this.log.info(line, 'request')
  }

  /** Logs a warning when a request is refused because of its key, or a sign-in because of its password. */
  logFailedLogin(ctx: ApiContext, error: unknown): void {
    if (!(error instanceof Refusal)) return
    const { remoteAddress: client, requestId, fault } = ctx.state.identity
    const about = { client, listener: 'api', reason: error.message, requestId }
    // The address that was entered is not logged: people type passwords into the wrong field.
    if (error.kind === 'wrong-password') this.lines.warn(about, 'a sign-in failed')
    if (error !== fault || !wrongKeyKinds.has(error.kind)) return
    if (error.details['origin'] !== undefined) return // it is a page in a browser: its key was not checked
    const key = findKeyPrefix(ctx)
    this.lines.warn(key === null ? about : { ...about, key }, 'a login failed')
  }
}

function findKeyPrefix({ req }: ApiContext): string | null {
  const key = findKey(req.headers)
  return key === null ? null : keyPrefixOf(key)
}
