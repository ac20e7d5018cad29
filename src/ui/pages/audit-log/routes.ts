/** The page of the audit log. */
import type { PageRoute } from '../../components/page-route.ts'

export const auditLogRoutes: readonly PageRoute[] = [
  {
    path: '/audit-log',
    area: 'workspace',
    navigation: { group: 'Settings', label: 'Audit log', order: 90 },
    load: () => import('./audit-log-page.tsx').then(({ AuditLogPage }) => AuditLogPage),
  },
]
