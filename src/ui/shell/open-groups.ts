/** Remembers the groups of the navigation that the user has opened and closed, in the browser. */
import { groups } from '../components/page-route.ts'

/** A group that is absent was neither opened nor closed. */
export type OpenGroups = Readonly<Partial<Record<(typeof groups)[number], boolean>>>

const KEY = 'posthorn.navigation'

/** The storage has `Audience-` for a closed group and `Operator+` for an open one. */
export function readOpenGroups(): OpenGroups {
  const stored = readWords()
  const known = groups.filter((group) => stored.includes(`${group}+`) || stored.includes(`${group}-`))
  return Object.fromEntries(known.map((group) => [group, stored.includes(`${group}+`)]))
}

export function storeOpenGroups(opened: OpenGroups): void {
  const words = Object.entries(opened).map(([group, isOpen]) => `${group}${isOpen ? '+' : '-'}`)
  try {
    localStorage.setItem(KEY, words.join(' '))
  } catch {
    // Without storage, the choice lasts until the page is loaded again.
  }
}

function readWords(): readonly string[] {
  try {
    return (localStorage.getItem(KEY) ?? '').split(' ')
  } catch {
    return []
  }
}
