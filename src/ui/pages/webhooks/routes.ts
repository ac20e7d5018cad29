/** The pages of webhooks. */
import type { PageRoute } from '../../components/page-route.ts'

export const webhookRoutes: readonly PageRoute[] = [
  {
    path: '/webhooks',
    area: 'workspace',
    navigation: { group: 'Settings', label: 'Webhooks', order: 30 },
    load: () => import('./webhook-list-page.tsx').then(({ WebhookListPage }) => WebhookListPage),
  },
  {
    path: '/webhooks/new',
    area: 'workspace',
    load: () => import('./new-webhook-page.tsx').then(({ NewWebhookPage }) => NewWebhookPage),
  },
  {
    path: '/webhooks/:id',
    area: 'workspace',
    load: () => import('./webhook-page.tsx').then(({ WebhookPage }) => WebhookPage),
  },
]
