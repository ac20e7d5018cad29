/** All pages, as data: an area has its list in pages/<area>/routes.ts. */
import { accountRoutes } from './pages/account/routes.ts'
import { domainRoutes } from './pages/domains/routes.ts'
import { keyRoutes } from './pages/keys/routes.ts'
import { operatorRoutes } from './pages/operator/routes.ts'
import type { PageRoute } from './shell/page-route.ts'

/** The first whose path fits is shown: `/domains/new` stands before `/domains/:id`. */
export const routes: readonly PageRoute[] = [...domainRoutes, ...keyRoutes, ...operatorRoutes, ...accountRoutes]
