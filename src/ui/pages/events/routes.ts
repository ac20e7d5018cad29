/** The pages of the event log. */
import type { PageRoute } from '../../components/page-route.ts'

export const eventRoutes: readonly PageRoute[] = [
  {
    path: '/events',
    area: 'workspace',
    navigation: { group: 'Insight', label: 'Events and SMS', order: 25 },
    load: () => import('./event-list-page.tsx').then(({ EventListPage }) => EventListPage),
  },
]
