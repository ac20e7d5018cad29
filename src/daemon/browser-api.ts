/** Wires the interface of pages in a browser: sessions, and the routes of people, in the order of their document. */
import { createRateLimit } from '../accounts/limits/rate-limit.js'
import { findSessionPrincipal, requireOperator } from '../accounts/sessions/session-principal.js'
import { passwordRoutes } from '../api/account/password.js'
import { secondFactorRoutes } from '../api/account/second-factor.js'
import { sessionRoutes } from '../api/account/session.js'
import type { BrowserApi } from '../api/http/pipeline/browser-api.js'
import { createSessionResolver } from '../api/http/pipeline/session-identity.js'
import type { BrowserRoute } from '../api/http/session-route.js'
import { frameRoutes } from '../api/message-views/frames.js'
import { buildBrowserDocument } from '../api/openapi/openapi.js'
import { attentionRoute } from '../api/overview/attention.js'
import { dailyMetricsRoute } from '../api/overview/daily.js'
import { queueRoute } from '../api/overview/queue.js'
import { suppressionSearchRoute } from '../api/suppressions/suppression-search.js'
import type { PlanLimits } from '../config/plans.js'
import { version } from '../platform/version.js'
import { createHtmlRestorer } from '../tracking/restore-html.js'
import type { RouteDeps } from './api-routes.js'

/** Requests of one user: enough for pages that refresh themselves in several tabs. */
const USER_LIMITS: PlanLimits = { requests_per_second: 100, requests_per_minute: 1_500 }

function buildBrowserRoutes({
  accountDeps,
  certificateOf,
  database: { read },
  mime,
}: RouteDeps): readonly BrowserRoute[] {
  return [
    ...sessionRoutes(accountDeps),
    ...passwordRoutes(accountDeps),
    ...secondFactorRoutes(accountDeps),
    ...frameRoutes({ read, mime, restoreHtml: createHtmlRestorer(read) }),
    dailyMetricsRoute({ read }),
    queueRoute({ read }),
    attentionRoute({ read, certificateOf }),
    suppressionSearchRoute({ read }),
  ]
}

export function wireBrowserApi(deps: RouteDeps): BrowserApi {
  const { config, clock, database, limits, checkSession } = deps
  const { read } = database
  const routes = buildBrowserRoutes(deps)
  return {
    routes,
    document: JSON.stringify(buildBrowserDocument(routes, { version, server: config.service.public_url })),
    sessions: createSessionResolver({
      ...{ checkSession, clock, clients: limits.clients },
      findPrincipal: (userId, workspaceId) => findSessionPrincipal(read, userId, workspaceId),
      users: createRateLimit({ limitsOf: () => USER_LIMITS }),
    }),
    requireOperator: (userId) => requireOperator(read, userId),
  }
}
