/** The page of cached files. */
import type { PageRoute } from '../../components/page-route.ts'

export const fileRoutes: readonly PageRoute[] = [
  {
    path: '/files',
    area: 'workspace',
    load: () => import('./file-page.tsx').then(({ FilePage }) => FilePage),
  },
]
