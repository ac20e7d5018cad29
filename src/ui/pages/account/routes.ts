/** The pages of the user's own account. */
import type { PageRoute } from '../../components/page-route.ts'

export const accountRoutes: readonly PageRoute[] = [
  {
    path: '/account',
    area: 'account',
    load: () => import('./account-page.tsx').then(({ AccountPage }) => AccountPage),
  },
]
