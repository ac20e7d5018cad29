/** All pages, as data: an area has its list in pages/<area>/routes.ts. */
import { accountRoutes } from './pages/account/routes.ts'
import { domainRoutes } from './pages/domains/routes.ts'
import { emailRoutes } from './pages/emails/routes.ts'
import { keyRoutes } from './pages/keys/routes.ts'
import type { PageRoute } from './shell/page-route.ts'

/** The first whose path fits is shown: `/domains/new` stands before `/domains/:id`. */
export const routes: readonly PageRoute[] = [...emailRoutes, ...domainRoutes, ...keyRoutes, ...accountRoutes]
