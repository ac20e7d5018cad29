/** The frame around the pages of a session: navigation, workspace and user. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { Logo } from '../components/logo.tsx'
import { AccountMenu } from './account-menu.tsx'
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
        <AccountMenu key={location} />
      </aside>
      <main id="main" class="main" tabIndex={-1}>
        {children}
      </main>
      <Search />
    </div>
  )
}
