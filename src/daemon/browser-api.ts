/** Wires the interface of pages in a browser: sessions, and the routes of people, in the order of their document. */
import { createRateLimit } from '../accounts/limits/rate-limit.js'
import { findSessionPrincipal, requireOperator } from '../accounts/sessions/session-principal.js'
import { passwordRoutes } from '../api/account/password.js'
import { profileRoute } from '../api/account/profile.js'
import { secondFactorRoutes } from '../api/account/second-factor.js'
import { sessionRoutes } from '../api/account/session.js'
import { audiencePageRoutes } from '../api/audiences/audience-pages.js'
import { broadcastLinksRoute } from '../api/broadcasts/broadcast-links.js'
import { templatePageRoutes } from '../api/content/template-pages.js'
import { domainSearchRoute } from '../api/domains/domain-search.js'
import { queueActRoutes } from '../api/emails/queue-acts.js'
import { searchRoute } from '../api/emails/search.js'
import { storyRoute } from '../api/emails/story.js'
import { exportViewRoute } from '../api/exports/export-view.js'
import type { BrowserApi } from '../api/http/pipeline/browser-api.js'
import { createSessionResolver } from '../api/http/pipeline/session-identity.js'
import type { BrowserRoute } from '../api/http/session-route.js'
import { frameRoutes } from '../api/message-views/frames.js'
import { buildBrowserDocument } from '../api/openapi/openapi.js'
import { doctorRoutes } from '../api/operator/doctor.js'
import { holdRuleRoutes } from '../api/operator/hold-rules.js'
import { queueRoutes } from '../api/operator/queue.js'
import { serviceRoutes } from '../api/operator/service.js'
import { shapingRoute } from '../api/operator/shaping.js'
import { smsHoldRoutes } from '../api/operator/sms-holds.js'
import { operatorWorkspaceRoutes } from '../api/operator/workspaces.js'
import { attentionRoute } from '../api/overview/attention.js'
import { dailyMetricsRoute } from '../api/overview/daily.js'
import { queueRoute } from '../api/overview/queue.js'
import { suppressionSearchRoute } from '../api/suppressions/suppression-search.js'
import { auditViewRoute } from '../api/workspaces/audit-view.js'
import type { PlanLimits } from '../config/plans.js'
import { runOnce } from '../platform/run-once.js'
import { version } from '../platform/version.js'
import { buildUnsubscribeUrl } from '../sending/unsubscribe-links.js'
import { buildExportDeps, type RouteDeps } from './api-routes.js'

/** Requests of one user: enough for pages that refresh themselves in several tabs. */
const USER_LIMITS: PlanLimits = { requests_per_second: 100, requests_per_minute: 1_500 }

function buildBrowserRoutes(deps: RouteDeps): readonly BrowserRoute[] {
  const { accountDeps, certificateOf, config, database, mime, onDueChanged } = deps
  const { read, commit } = database
  return [
    ...sessionRoutes(accountDeps),
    profileRoute(accountDeps),
    ...passwordRoutes(accountDeps),
    ...secondFactorRoutes(accountDeps),
    ...frameRoutes({ read, mime }),
    dailyMetricsRoute({ read }),
    queueRoute({ read }),
    attentionRoute({ read, certificateOf }),
    ...operatorRoutes(deps),
    suppressionSearchRoute({ read }),
    domainSearchRoute({ read }),
    auditViewRoute({ read }),
    exportViewRoute(buildExportDeps(deps)),
    ...audiencePageRoutes(read),
    ...templatePageRoutes(read, buildUnsubscribeUrl(config.service.public_url, 'preview'), deps.previewLarge),
    broadcastLinksRoute(read),
    searchRoute({ read }),
    storyRoute({ read }),
    ...queueActRoutes({ read, commit, onDueChanged }),
  ]
}

function operatorRoutes({
  config,
  settings,
  database: { read, commit },
  limits,
  operator,
}: RouteDeps): readonly BrowserRoute[] {
  const { plans, inboundBytes } = limits
  const naming = { publicUrl: config.service.public_url, planSettings: () => settings().limits }
  return [
    ...operatorWorkspaceRoutes({ read, commit, plans, inboundBytes, ...naming }),
    ...queueRoutes({ ...operator, read, commit }),
    ...holdRuleRoutes({ ...operator, read, commit }),
    ...serviceRoutes({ ...operator, read, commit }),
    ...smsHoldRoutes({ read, commit }),
    ...doctorRoutes({ ...operator, read }),
    shapingRoute({ read }),
  ]
}

export function wireBrowserApi(deps: RouteDeps): BrowserApi {
  const { config, clock, database, limits, checkSession } = deps
  const { read } = database
  const routes = buildBrowserRoutes(deps)
  return {
    routes,
    readDocument: runOnce(() =>
      JSON.stringify(buildBrowserDocument(routes, { version, server: config.service.public_url })),
    ),
    sessions: createSessionResolver({
      ...{ checkSession, clock, clients: limits.clients },
      findPrincipal: (userId, workspaceId) => findSessionPrincipal(read, userId, workspaceId),
      users: createRateLimit({ limitsOf: () => USER_LIMITS }),
    }),
    requireOperator: (userId) => requireOperator(read, userId),
    countRequest: (workspaceId) => limits.requests.take(workspaceId, clock()),
  }
}
