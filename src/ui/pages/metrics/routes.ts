/** The pages of numbers. */
import type { PageRoute } from '../../components/page-route.ts'

export const metricRoutes: readonly PageRoute[] = [
  {
    path: '/metrics',
    area: 'workspace',
    navigation: { group: 'Insight', label: 'Metrics', order: 10 },
    load: () => import('./metrics-page.tsx').then(({ MetricsPage }) => MetricsPage),
  },
  {
    path: '/links',
    area: 'workspace',
    load: () => import('./links-page.tsx').then(({ LinksPage }) => LinksPage),
  },
]
