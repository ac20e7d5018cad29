/** The pages of broadcasts. */
import type { PageRoute } from '../../components/page-route.ts'

export const broadcastRoutes: readonly PageRoute[] = [
  {
    path: '/broadcasts',
    area: 'workspace',
    navigation: { group: 'Audience', label: 'Broadcasts', order: 40 },
    load: () => import('./broadcast-list-page.tsx').then(({ BroadcastListPage }) => BroadcastListPage),
  },
  {
    path: '/broadcasts/new',
    area: 'workspace',
    load: () => import('./draft-page.tsx').then(({ NewDraftPage }) => NewDraftPage),
  },
  {
    path: '/broadcasts/:id/edit',
    area: 'workspace',
    load: () => import('./draft-page.tsx').then(({ DraftPage }) => DraftPage),
  },
  {
    path: '/broadcasts/:id/recipients',
    area: 'workspace',
    load: () => import('./recipients-page.tsx').then(({ RecipientsPage }) => RecipientsPage),
  },
  {
    path: '/broadcasts/:id',
    area: 'workspace',
    load: () => import('./broadcast-page.tsx').then(({ BroadcastPage }) => BroadcastPage),
  },
]
