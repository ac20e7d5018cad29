/** The page of exports. */
import type { PageRoute } from '../../shell/page-route.ts'

export const exportRoutes: readonly PageRoute[] = [
  {
    path: '/exports',
    area: 'workspace',
    navigation: { group: 'Insight', label: 'Exports', order: 50 },
    load: () => import('./export-list-page.tsx').then(({ ExportListPage }) => ExportListPage),
  },
]
