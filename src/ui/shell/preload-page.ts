/** Loads the code of the opened page while the session is read, instead of after it. */
import { routes } from './routes.ts'

const BASE = '/ui'
const FIRST_PAGE = '/overview'

/**
 * `pathname` is that of the browser's address. If the page has no route, or if its code does not come, the app shows
 * that later.
 */
export function preloadPage(pathname: string): void {
  const path = pathname.slice(BASE.length).replace(/\/$/, '') || FIRST_PAGE
  const route = routes.find((one) => matchesPath(one.path, path))
  void route?.load().catch(() => undefined)
}

function matchesPath(pattern: string, path: string): boolean {
  const [parts, given] = [pattern.split('/'), path.split('/')]
  return parts.length === given.length && parts.every((part, at) => part.startsWith(':') || part === given[at])
}
