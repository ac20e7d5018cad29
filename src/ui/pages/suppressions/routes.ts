/** The pages of suppressions. */
import type { PageRoute } from '../../components/page-route.ts'

export const suppressionRoutes: readonly PageRoute[] = [
  {
    path: '/suppressions',
    area: 'workspace',
    navigation: { group: 'Mail', label: 'Suppressions', order: 40 },
    load: () => import('./suppression-list-page.tsx').then(({ SuppressionListPage }) => SuppressionListPage),
  },
  {
    path: '/suppressions/new',
    area: 'workspace',
    load: () => import('./new-suppression-page.tsx').then(({ NewSuppressionPage }) => NewSuppressionPage),
  },
  {
    path: '/suppressions/import',
    area: 'workspace',
    load: () => import('./import-form-page.tsx').then(({ ImportFormPage }) => ImportFormPage),
  },
  {
    path: '/suppressions/imports/:id',
    area: 'workspace',
    load: () => import('./import-page.tsx').then(({ ImportPage }) => ImportPage),
  },
]
