/** The page of members. */
import type { PageRoute } from '../../components/page-route.ts'

export const memberRoutes: readonly PageRoute[] = [
  {
    path: '/members',
    area: 'workspace',
    navigation: { group: 'Settings', label: 'Members', order: 40 },
    load: () => import('./member-list-page.tsx').then(({ MemberListPage }) => MemberListPage),
  },
]
