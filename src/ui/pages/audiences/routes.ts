/** The pages of audiences and their contacts. */
import type { PageRoute } from '../../components/page-route.ts'

export const audienceRoutes: readonly PageRoute[] = [
  {
    path: '/audiences',
    area: 'workspace',
    navigation: { group: 'Audience', label: 'Audiences', order: 10 },
    load: () => import('./audience-list-page.tsx').then(({ AudienceListPage }) => AudienceListPage),
  },
  {
    path: '/audiences/new',
    area: 'workspace',
    load: () => import('./new-audience-page.tsx').then(({ NewAudiencePage }) => NewAudiencePage),
  },
  {
    path: '/audiences/:id',
    area: 'workspace',
    load: () => import('./audience-page.tsx').then(({ AudiencePage }) => AudiencePage),
  },
  {
    path: '/audiences/:id/import',
    area: 'workspace',
    load: () => import('./import-page.tsx').then(({ ImportPage }) => ImportPage),
  },
  {
    path: '/contacts',
    area: 'workspace',
    navigation: { group: 'Audience', label: 'Contacts', order: 20 },
    load: () => import('./contact-list-page.tsx').then(({ ContactListPage }) => ContactListPage),
  },
  {
    path: '/contacts/new',
    area: 'workspace',
    load: () => import('./new-contact-page.tsx').then(({ NewContactPage }) => NewContactPage),
  },
  {
    path: '/contacts/:id',
    area: 'workspace',
    load: () => import('./contact-page.tsx').then(({ ContactPage }) => ContactPage),
  },
]
