/** The frame around the pages of a session: navigation, workspace and user. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { sessionInfo } from '../api/session-state.ts'
import { Button, ButtonLink } from '../components/button.tsx'
import { Logo } from '../components/logo.tsx'
import { signOut } from '../session/sign-in.ts'
import { Navigation } from './navigation.tsx'
import { Search, SearchButton } from './search.tsx'
import { WorkspaceSwitch } from './workspace-switch.tsx'

export function Shell({ children }: { readonly children: ComponentChildren }): VNode {
  const [location] = useLocation()
  const [open, setOpen] = useState(false)
  useEffect(() => setOpen(false), [location])
  return (
    <div class="shell">
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <Logo />
        <SearchButton />
        <button
          type="button"
          class="button button-plain button-small"
          aria-expanded={open}
          aria-controls="side"
          onClick={() => setOpen(!open)}
        >
          Menu
        </button>
      </header>
      <aside id="side" class={open ? 'side side-open' : 'side'} aria-label="Navigation and account">
        <div class="side-logo">
          <Logo />
        </div>
        <WorkspaceSwitch />
        <SearchButton />
        <Navigation location={location} />
        <UserMenu />
      </aside>
      <main id="main" class="main" tabIndex={-1}>
        {children}
      </main>
      <Search />
    </div>
  )
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

function UserMenu(): VNode {
  const { user, service } = sessionInfo.value ?? {}
  return (
    <div class="user-menu">
      <p class="user-name" title={user?.email}>
        {user?.full_name || user?.email}
      </p>
      <div class="user-actions">
        <ButtonLink small href="/account">
          Account
        </ButtonLink>
        <Button small onClick={signOut}>
          Sign out
        </Button>
      </div>
      <p class="version">
        {service?.hostname} · {service?.version}
        <br />
        Times in {zone}
      </p>
    </div>
  )
}
