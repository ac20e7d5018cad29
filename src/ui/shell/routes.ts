/** All pages, as data. Each area has its list in pages/<area>/routes.ts. */

import type { PageRoute } from '../components/page-route.ts'
import { accountRoutes } from '../pages/account/routes.ts'
import { audienceRoutes } from '../pages/audiences/routes.ts'
import { auditLogRoutes } from '../pages/audit-log/routes.ts'
import { broadcastRoutes } from '../pages/broadcasts/routes.ts'
import { domainRoutes } from '../pages/domains/routes.ts'
import { emailRoutes } from '../pages/emails/routes.ts'
import { eventRoutes } from '../pages/events/routes.ts'
import { exportRoutes } from '../pages/exports/routes.ts'
import { fileRoutes } from '../pages/files/routes.ts'
import { helpRoutes } from '../pages/help/routes.ts'
import { inboundRoutes } from '../pages/inbound/routes.ts'
import { interfaceRoutes } from '../pages/interface/routes.ts'
import { keyRoutes } from '../pages/keys/routes.ts'
import { memberRoutes } from '../pages/members/routes.ts'
import { metricRoutes } from '../pages/metrics/routes.ts'
import { operatorRoutes } from '../pages/operator/routes.ts'
import { overviewRoutes } from '../pages/overview/routes.ts'
import { suppressionRoutes } from '../pages/suppressions/routes.ts'
import { templateRoutes } from '../pages/templates/routes.ts'
import { webhookRoutes } from '../pages/webhooks/routes.ts'
import { workspaceRoutes } from '../pages/workspace/routes.ts'

/** The app shows the first route whose path fits, so `/domains/new` comes before `/domains/:id`. */
export const routes: readonly PageRoute[] = [
  ...overviewRoutes,
  ...emailRoutes,
  ...domainRoutes,
  ...suppressionRoutes,
  ...inboundRoutes,
  ...audienceRoutes,
  ...templateRoutes,
  ...fileRoutes,
  ...broadcastRoutes,
  ...metricRoutes,
  ...eventRoutes,
  ...exportRoutes,
  ...workspaceRoutes,
  ...keyRoutes,
  ...webhookRoutes,
  ...memberRoutes,
  ...auditLogRoutes,
  ...accountRoutes,
  ...helpRoutes,
  ...interfaceRoutes,
  ...operatorRoutes,
]
