/** A page whose code is loaded when the user opens it for the first time. */
import type { ComponentType, VNode } from 'preact'
import { isServerReachable, loadCode } from '../api/load-code.ts'
import { mayOperate, workspace } from '../api/session-state.ts'
import { useLoad } from '../api/use-load.ts'
import { Fault, Placeholder } from './loaded.tsx'
import { NoWorkspacePage } from './no-workspace-page.tsx'
import { NotFoundPage } from './not-found-page.tsx'
import { Page } from './page.tsx'
import type { PageProps, PageRoute } from './page-route.ts'

interface LazyPageProps extends PageProps {
  readonly route: PageRoute
}

interface LoadedPage {
  readonly Content: ComponentType<PageProps>
}

export function LazyPage({ route, params }: LazyPageProps): VNode {
  const { data, error, reload } = useLoad(async (): Promise<LoadedPage> => ({ Content: await loadCode(route.load) }))
  if (route.area === 'operator' && !mayOperate.value) return <NotFoundPage />
  if (route.area === 'workspace' && workspace.value === null) return <NoWorkspacePage />
  if (data !== undefined) return <data.Content params={params} />
  if (error === null) return <Placeholder />
  // The page has nothing yet that could be lost.
  const retry = async (): Promise<void> => ((await isServerReachable()) ? location.reload() : reload())
  return (
    <Page title="This page is not loaded">
      <Fault error={error} onRetry={() => void retry()} />
    </Page>
  )
}
