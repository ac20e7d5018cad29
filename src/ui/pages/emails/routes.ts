/** The pages of emails. */
import type { PageRoute } from '../../components/page-route.ts'

export const emailRoutes: readonly PageRoute[] = [
  {
    path: '/emails',
    area: 'workspace',
    navigation: { group: 'Mail', label: 'Emails', order: 10 },
    load: () => import('./email-list-page.tsx').then(({ EmailListPage }) => EmailListPage),
  },
  {
    path: '/emails/new',
    area: 'workspace',
    load: () => import('./new-email-page.tsx').then(({ NewEmailPage }) => NewEmailPage),
  },
  {
    path: '/emails/:id',
    area: 'workspace',
    load: () => import('./email-page.tsx').then(({ EmailPage }) => EmailPage),
  },
]
