/** The page of exports. */
import type { PageRoute } from '../../components/page-route.ts'

export const exportRoutes: readonly PageRoute[] = [
  {
    path: '/exports',
    area: 'workspace',
    navigation: { group: 'Insight', label: 'Exports', order: 50 },
    load: () => import('./export-list-page.tsx').then(({ ExportListPage }) => ExportListPage),
  },
]
