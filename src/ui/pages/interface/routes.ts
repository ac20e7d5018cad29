/** The page on which a user tries an operation of the interface. The documentation links to it. */
import type { PageRoute } from '../../components/page-route.ts'

export const interfaceRoutes: readonly PageRoute[] = [
  {
    path: '/try/:operation',
    area: 'workspace',
    load: () => import('./try-page.tsx').then(({ TryPage }) => TryPage),
  },
]
