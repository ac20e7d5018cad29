/** The pages of domains. */
import type { PageRoute } from '../../components/page-route.ts'

export const domainRoutes: readonly PageRoute[] = [
  {
    path: '/domains',
    area: 'workspace',
    navigation: { group: 'Mail', label: 'Domains', order: 50 },
    load: () => import('./domain-list-page.tsx').then(({ DomainListPage }) => DomainListPage),
  },
  {
    path: '/domains/new',
    area: 'workspace',
    load: () => import('./new-domain-page.tsx').then(({ NewDomainPage }) => NewDomainPage),
  },
  {
    path: '/domains/breakers',
    area: 'workspace',
    load: () => import('./breaker-list-page.tsx').then(({ BreakerListPage }) => BreakerListPage),
  },
  {
    path: '/domains/:id/reports/:reportId',
    area: 'workspace',
    load: () => import('./report-page.tsx').then(({ ReportPage }) => ReportPage),
  },
  {
    path: '/domains/:id',
    area: 'workspace',
    load: () => import('./domain-page.tsx').then(({ DomainPage }) => DomainPage),
  },
]
