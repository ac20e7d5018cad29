/** The pages of the workspace itself. */
import type { PageRoute } from '../../components/page-route.ts'

export const workspaceRoutes: readonly PageRoute[] = [
  {
    path: '/workspace',
    area: 'workspace',
    navigation: { group: 'Settings', label: 'Workspace', order: 10 },
    load: () => import('./workspace-page.tsx').then(({ WorkspacePage }) => WorkspacePage),
  },
  {
    path: '/workspace/new',
    area: 'workspace',
    load: () => import('./new-workspace-page.tsx').then(({ NewWorkspacePage }) => NewWorkspacePage),
  },
  {
    path: '/usage',
    area: 'workspace',
    navigation: { group: 'Insight', label: 'Usage and limits', order: 60 },
    load: () => import('./usage-page.tsx').then(({ UsagePage }) => UsagePage),
  },
]
