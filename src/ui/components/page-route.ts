/** A page as data. */
import type { ComponentType } from 'preact'

/** The parts of the navigation, in this order. */
export const groups = ['Overview', 'Mail', 'Audience', 'Insight', 'Settings', 'Operator'] as const

export interface PageProps {
  /** Parameters of the path. */
  readonly params: Readonly<Record<string, string>>
}

export interface PageRoute {
  /** The path below /ui: `/domains/:id`. */
  readonly path: string
  /**
   * `operator` is for owners and admins of the operator's workspace. `account` is also for users without a
   * workspace.
   */
  readonly area: 'workspace' | 'operator' | 'account'
  /** Its place in the navigation. Pages below another page have none. */
  readonly navigation?: { readonly group: (typeof groups)[number]; readonly label: string; readonly order: number }
  /** Loads the code of the page: `() => import('./list-page.tsx').then(({ ListPage }) => ListPage)`. */
  readonly load: () => Promise<ComponentType<PageProps>>
}
