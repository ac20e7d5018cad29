/** The pages of API keys. */
import type { PageRoute } from '../../components/page-route.ts'

export const keyRoutes: readonly PageRoute[] = [
  {
    path: '/keys',
    area: 'workspace',
    navigation: { group: 'Settings', label: 'API keys', order: 20 },
    load: () => import('./key-list-page.tsx').then(({ KeyListPage }) => KeyListPage),
  },
  {
    path: '/keys/new',
    area: 'workspace',
    load: () => import('./new-key-page.tsx').then(({ NewKeyPage }) => NewKeyPage),
  },
]
