/** The pages of templates. */
import type { PageRoute } from '../../components/page-route.ts'

export const templateRoutes: readonly PageRoute[] = [
  {
    path: '/templates',
    area: 'workspace',
    navigation: { group: 'Audience', label: 'Templates', order: 30 },
    load: () => import('./template-list-page.tsx').then(({ TemplateListPage }) => TemplateListPage),
  },
  {
    path: '/templates/new',
    area: 'workspace',
    load: () => import('./template-page.tsx').then(({ NewTemplatePage }) => NewTemplatePage),
  },
  {
    path: '/templates/:id',
    area: 'workspace',
    load: () => import('./template-page.tsx').then(({ TemplatePage }) => TemplatePage),
  },
]
