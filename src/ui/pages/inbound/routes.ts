/** The pages of inbound mail. */
import type { PageRoute } from '../../components/page-route.ts'

export const inboundRoutes: readonly PageRoute[] = [
  {
    path: '/inbound',
    area: 'workspace',
    navigation: { group: 'Mail', label: 'Inbound', order: 20 },
    load: () => import('./inbound-list-page.tsx').then(({ InboundListPage }) => InboundListPage),
  },
  {
    path: '/inbound/:id',
    area: 'workspace',
    load: () => import('./inbound-page.tsx').then(({ InboundPage }) => InboundPage),
  },
]
