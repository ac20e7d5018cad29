/** Links to the pages that have a place in the navigation, in groups that the user opens and closes. */
import type { VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { mayOperate, workspace } from '../api/session-state.ts'
import { groups, type PageRoute } from '../components/page-route.ts'
import { type OpenGroups, readOpenGroups, storeOpenGroups } from './open-groups.ts'
import { routes } from './routes.ts'

type NavigationRoute = PageRoute & { readonly navigation: NonNullable<PageRoute['navigation']> }
type Group = (typeof groups)[number]

export function Navigation({ location }: { readonly location: string }): VNode {
  const element = useRef<HTMLElement>(null)
  const [opened, setOpened] = useState<OpenGroups>(readOpenGroups)
  const [entered] = useState(location)
  // The list has its own scroll bar in low windows.
  useEffect(() => element.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [location])
  const choose = (group: Group, isOpen: boolean): void => {
    const next = { ...opened, [group]: isOpen }
    setOpened(next)
    storeOpenGroups(next)
  }
  return (
    <nav ref={element} class="navigation" aria-label="Pages">
      {groups.map((group) => {
        const entries = listEntries(group)
        if (entries.length === 0) return null
        if (group === 'Overview') return <Entries key={group} entries={entries} location={location} />
        return (
          <NavigationGroup
            key={group}
            group={group}
            entries={entries}
            location={location}
            isOpen={opened[group] ?? (isOpenAtFirst(group, entered) || hasPage(group, location))}
            onToggle={(isOpen) => choose(group, isOpen)}
          />
        )
      })}
    </nav>
  )
}

/** The lowest window in which all groups of a workspace fit, with those of the operator. */
const isLow = matchMedia('(max-height: 66rem)')

/**
 * The group of the operator opens with its pages. If the dashboard is entered there in a low window, they stand in place
 * of the other groups. Later no group closes by itself.
 */
function isOpenAtFirst(group: Group, entered: string): boolean {
  if (hasPage('Operator', entered) && isLow.matches) return hasPage(group, entered)
  return group !== 'Operator' || hasPage(group, entered)
}

function hasPage(group: Group, location: string): boolean {
  return listEntries(group).some(({ path }) => isCurrent(location, path))
}

interface EntriesProps {
  readonly entries: readonly NavigationRoute[]
  readonly location: string
  readonly id?: string
}

interface GroupProps extends EntriesProps {
  readonly group: Group
  readonly isOpen: boolean
  readonly onToggle: (isOpen: boolean) => void
}

function NavigationGroup({ group, isOpen, onToggle, ...entries }: GroupProps): VNode {
  const id = useId()
  const element = useRef<HTMLDivElement>(null)
  const wasOpen = useRef(isOpen)
  // A group that the user opens at the end of a low window is shown as a whole.
  useEffect(() => {
    if (isOpen && !wasOpen.current) element.current?.scrollIntoView({ block: 'nearest' })
    wasOpen.current = isOpen
  }, [isOpen])
  return (
    <div ref={element} class="navigation-group">
      <h2>
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={isOpen ? id : undefined}
          onClick={() => onToggle(!isOpen)}
        >
          {group}
        </button>
      </h2>
      {isOpen ? <Entries id={id} {...entries} /> : null}
    </div>
  )
}

function Entries({ entries, location, id }: EntriesProps): VNode {
  return (
    <ul id={id}>
      {entries.map(({ path, navigation: { label } }) => (
        <li key={path}>
          <Link href={path} aria-current={isCurrent(location, path) ? 'page' : undefined}>
            {label}
          </Link>
        </li>
      ))}
    </ul>
  )
}

function listEntries(group: Group): readonly NavigationRoute[] {
  return routes
    .flatMap((route) => (route.navigation?.group === group ? [{ ...route, navigation: route.navigation }] : []))
    .filter(({ area }) => (area === 'operator' ? mayOperate.value : workspace.value !== null))
    .sort((one, other) => one.navigation.order - other.navigation.order)
}

function isCurrent(location: string, path: string): boolean {
  return path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`)
}
