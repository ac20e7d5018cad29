/** The first page of a workspace. */
import type { PageRoute } from '../../components/page-route.ts'

export const overviewRoutes: readonly PageRoute[] = [
  {
    path: '/overview',
    area: 'workspace',
    navigation: { group: 'Overview', label: 'Overview', order: 10 },
    load: () => import('./overview-page.tsx').then(({ OverviewPage }) => OverviewPage),
  },
]
