/** The pages of the operator: all workspaces, the queue, spam training, suppressions, SMS holds, health, log. */
import type { PageRoute } from '../../components/page-route.ts'

const group = 'Operator'

export const operatorRoutes: readonly PageRoute[] = [
  {
    path: '/operator/workspaces',
    area: 'operator',
    navigation: { group, label: 'All workspaces', order: 10 },
    load: () => import('./workspace-list-page.tsx').then(({ WorkspaceListPage }) => WorkspaceListPage),
  },
  {
    path: '/operator/workspaces/new',
    area: 'operator',
    load: () => import('./new-workspace-page.tsx').then(({ NewWorkspacePage }) => NewWorkspacePage),
  },
  {
    path: '/operator/workspaces/:id',
    area: 'operator',
    load: () => import('./workspace-page.tsx').then(({ WorkspacePage }) => WorkspacePage),
  },
  {
    path: '/operator/queue',
    area: 'operator',
    navigation: { group, label: 'Queue', order: 20 },
    load: () => import('./queue-page.tsx').then(({ QueuePage }) => QueuePage),
  },
  {
    path: '/operator/spam',
    area: 'operator',
    navigation: { group, label: 'Spam training', order: 30 },
    load: () => import('./spam-page.tsx').then(({ SpamPage }) => SpamPage),
  },
  {
    path: '/operator/suppressions',
    area: 'operator',
    navigation: { group, label: 'Service suppressions', order: 40 },
    load: () => import('./suppressions-page.tsx').then(({ ServiceSuppressionsPage }) => ServiceSuppressionsPage),
  },
  {
    path: '/operator/sms-holds',
    area: 'operator',
    navigation: { group, label: 'SMS holds', order: 45 },
    load: () => import('./sms-holds-page.tsx').then(({ SmsHoldsPage }) => SmsHoldsPage),
  },
  {
    path: '/operator/health',
    area: 'operator',
    navigation: { group, label: 'Health', order: 50 },
    load: () => import('./health-page.tsx').then(({ HealthPage }) => HealthPage),
  },
  {
    path: '/operator/log',
    area: 'operator',
    navigation: { group, label: 'Log', order: 60 },
    load: () => import('./log-page.tsx').then(({ LogPage }) => LogPage),
  },
]
