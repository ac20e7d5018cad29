/** The dashboard: the pages of a session in their frame, or the pages that need none. */
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { type AroundNavHandler, Redirect, Route, Router, Switch } from 'wouter-preact'
import { session, workspace } from './api/session-state.ts'
import { keepFocus } from './components/focus-keeper.ts'
import { LazyPage } from './components/lazy-page.tsx'
import { mayLeave } from './components/leave-guard.ts'
import { Placeholder } from './components/loaded.tsx'
import { NotFoundPage } from './components/not-found-page.tsx'
import { Notices } from './components/notices.tsx'
import { ForgottenPasswordPage } from './session/forgotten-password-page.tsx'
import { SetPasswordPage } from './session/set-password-page.tsx'
import { SignInPage } from './session/sign-in-page.tsx'
import { UnreachablePage } from './session/unreachable-page.tsx'
import { routes } from './shell/routes.ts'
import { Shell } from './shell/shell.tsx'

export function App(): VNode {
  useEffect(keepFocus, [])
  return (
    <Router base="/ui" aroundNav={navigateIfAllowed}>
      <Switch>
        <Route path="/set-password" component={SetPasswordPage} />
        <Route path="/forgotten-password" component={ForgottenPasswordPage} />
        <Route>
          <SessionPages />
        </Route>
      </Switch>
      <Notices />
    </Router>
  )
}

/** Asks before text that is not saved is left. A change of the query stays on the page. */
const navigateIfAllowed: AroundNavHandler = (navigate, to, options) => {
  const [path] = to.split(/[?#]/)
  if (path === window.location.pathname || mayLeave()) navigate(to, options)
}

/** Shown until we know whether there is a session. */
function Waiting(): VNode {
  return (
    <main class="front">
      <Placeholder />
    </main>
  )
}

function SessionPages(): VNode {
  const state = session.value
  if (state.kind === 'loading') return <Waiting />
  if (state.kind === 'failed') return <UnreachablePage message={state.message} />
  if (state.kind === 'none') return <SignInPage ended={state.ended} />
  // Another workspace or user has other pages: their state must not outlive the switch.
  return (
    <Shell key={`${state.info.user.id} ${workspace.value?.id}`}>
      <Switch>
        {routes.map((route) => (
          <Route key={route.path} path={route.path}>
            {(params) => <LazyPage key={JSON.stringify(params)} route={route} params={readParams(params)} />}
          </Route>
        ))}
        <Route path="/">
          <Redirect to="/overview" replace />
        </Route>
        <Route component={NotFoundPage} />
      </Switch>
    </Shell>
  )
}

function readParams(params: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
