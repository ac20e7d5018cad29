/** The documentation of this version. */
import type { PageRoute } from '../../components/page-route.ts'

const load = () => import('./help-page.tsx').then(({ HelpPage }) => HelpPage)

export const helpRoutes: readonly PageRoute[] = [
  { path: '/help', area: 'account', load },
  { path: '/help/:name', area: 'account', load },
  { path: '/help/:folder/:name', area: 'account', load },
]
