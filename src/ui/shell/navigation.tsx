/** Links, in groups, to the pages that have a place in the navigation. */
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { mayOperate, workspace } from '../api/session-state.ts'
import { groups, type PageRoute } from '../components/page-route.ts'
import { routes } from './routes.ts'

type NavigationRoute = PageRoute & { readonly navigation: NonNullable<PageRoute['navigation']> }

export function Navigation({ location }: { readonly location: string }): VNode {
  const element = useRef<HTMLElement>(null)
  // The list has its own scroll bar in low windows.
  useEffect(() => element.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [location])
  return (
    <nav ref={element} class="navigation" aria-label="Pages">
      {groups.map((group) => {
        const entries = listEntries(group)
        return entries.length === 0 ? null : (
          <div key={group} class="navigation-group">
            {group === 'Overview' ? null : <h2>{group}</h2>}
            <ul>
              {entries.map(({ path, navigation: { label } }) => (
                <li key={path}>
                  <Link href={path} aria-current={isCurrent(location, path) ? 'page' : undefined}>
                    {label}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}

function listEntries(group: (typeof groups)[number]): readonly NavigationRoute[] {
  return routes
    .flatMap((route) => (route.navigation?.group === group ? [{ ...route, navigation: route.navigation }] : []))
    .filter(({ area }) => (area === 'operator' ? mayOperate.value : workspace.value !== null))
    .sort((one, other) => one.navigation.order - other.navigation.order)
}

function isCurrent(location: string, path: string): boolean {
  return path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`)
}
