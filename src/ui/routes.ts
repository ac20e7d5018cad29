/** All pages, as data: an area has its list in pages/<area>/routes.ts. */
import { accountRoutes } from './pages/account/routes.ts'
import { domainRoutes } from './pages/domains/routes.ts'
import { inboundRoutes } from './pages/inbound/routes.ts'
import { keyRoutes } from './pages/keys/routes.ts'
import { metricRoutes } from './pages/metrics/routes.ts'
import { overviewRoutes } from './pages/overview/routes.ts'
import { suppressionRoutes } from './pages/suppressions/routes.ts'
import { workspaceRoutes } from './pages/workspace/routes.ts'
import type { PageRoute } from './shell/page-route.ts'

/** The first whose path fits is shown: `/domains/new` stands before `/domains/:id`. */
export const routes: readonly PageRoute[] = [
  ...overviewRoutes,
  ...domainRoutes,
  ...inboundRoutes,
  ...suppressionRoutes,
  ...keyRoutes,
  ...metricRoutes,
  ...workspaceRoutes,
  ...accountRoutes,
]
