/** Wires the interface of pages in a browser: sessions, and the routes of people, in the order of their document. */

import { runOnce } from '../../base/platform/run-once.js'
import { version } from '../../base/platform/version.js'
import { buildUnsubscribeUrl } from '../../outbound/sending/unsubscribe-links.js'
import { passwordRoutes } from '../../servers/api/account/password.js'
import { profileRoute } from '../../servers/api/account/profile.js'
import { secondFactorRoutes } from '../../servers/api/account/second-factor.js'
import { sessionRoutes } from '../../servers/api/account/session.js'
import { audiencePageRoutes } from '../../servers/api/audiences/audience-pages.js'
import { broadcastLinksRoute } from '../../servers/api/broadcasts/broadcast-links.js'
import { templatePageRoutes } from '../../servers/api/content/template-pages.js'
import { domainPaceRoute } from '../../servers/api/domains/domain-pace.js'
import { domainSearchRoute } from '../../servers/api/domains/domain-search.js'
import { observedDnsRoute } from '../../servers/api/domains/observed-dns.js'
import { queueActRoutes } from '../../servers/api/emails/queue-acts.js'
import { searchRoute } from '../../servers/api/emails/search.js'
import { exportViewRoute } from '../../servers/api/exports/export-view.js'
import type { BrowserApi } from '../../servers/api/http/pipeline/api-app.js'
import { SessionIdentities } from '../../servers/api/http/pipeline/session-identity.js'
import type { Route } from '../../servers/api/http/route/route.js'
import { frameRoutes } from '../../servers/api/message-views/frames.js'
import { buildBrowserDocument } from '../../servers/api/openapi/openapi.js'
import { doctorRoutes } from '../../servers/api/operator/doctor.js'
import { holdRuleRoutes } from '../../servers/api/operator/hold-rules.js'
import { queueRoutes } from '../../servers/api/operator/queue.js'
import { serviceRoutes } from '../../servers/api/operator/service.js'
import { shapingRoute } from '../../servers/api/operator/shaping.js'
import { smsHoldRoutes } from '../../servers/api/operator/sms-holds.js'
import { operatorWorkspaceRoutes } from '../../servers/api/operator/workspaces.js'
import { attentionRoute } from '../../servers/api/overview/attention.js'
import { dailyMetricsRoute } from '../../servers/api/overview/daily.js'
import { endpointsRoute } from '../../servers/api/overview/endpoints.js'
import { firstStepsRoute } from '../../servers/api/overview/first-steps.js'
import { recentOutcomesRoute } from '../../servers/api/overview/outcomes.js'
import { queueRoute } from '../../servers/api/overview/queue.js'
import { searchAllRoute } from '../../servers/api/search/search-all.js'
import { suppressionSearchRoute } from '../../servers/api/suppressions/suppression-search.js'
import { auditViewRoute } from '../../servers/api/workspaces/audit-view.js'
import { CheckLimiter } from '../../workspaces/domains/verify-domain.js'
import { buildExportDeps, type RouteParts } from './api-routes.js'

function buildBrowserRoutes(parts: RouteParts): readonly Route[] {
  const { config, read, composing } = parts
  const { accountDeps } = parts.people
  const acting = { ...parts.operator, ...parts }
  return [
    ...sessionRoutes(accountDeps),
    profileRoute(accountDeps),
    ...passwordRoutes(accountDeps),
    ...secondFactorRoutes(accountDeps),
    ...frameRoutes(parts),
    dailyMetricsRoute(parts),
    recentOutcomesRoute(parts),
    queueRoute(parts),
    attentionRoute({ ...parts, serviceConcerns: parts.operator.serviceConcerns }),
    firstStepsRoute(parts),
    endpointsRoute({ ...parts, hostname: config.service.hostname, publicUrl: config.service.public_url }),
    ...operatorWorkspaceRoutes({ ...parts, publicUrl: config.service.public_url }),
    ...queueRoutes(acting),
    ...holdRuleRoutes(acting),
    ...serviceRoutes(acting),
    ...smsHoldRoutes(parts),
    ...doctorRoutes(acting),
    shapingRoute(parts),
    suppressionSearchRoute(parts),
    domainSearchRoute(parts),
    observedDnsRoute({ ...parts.rotationDeps, lookups: new CheckLimiter() }),
    domainPaceRoute(parts),
    auditViewRoute(parts),
    exportViewRoute(buildExportDeps(parts)),
    ...audiencePageRoutes(read),
    ...templatePageRoutes(read, buildUnsubscribeUrl(config.service.public_url, 'preview'), composing),
    broadcastLinksRoute(read),
    searchRoute(parts),
    searchAllRoute(parts),
    ...queueActRoutes(parts),
  ]
}

export function wireBrowserApi(parts: RouteParts): BrowserApi {
  const { config, clock, read, limits, people } = parts
  const routes = buildBrowserRoutes(parts)
  return {
    routes,
    readDocument: runOnce(() =>
      JSON.stringify(buildBrowserDocument(routes, { version, server: config.service.public_url })),
    ),
    sessions: new SessionIdentities(read, people.sessions, limits, clock),
  }
}
