/** Loads the code of the page that is opened while the session is read, instead of after it. */
import { routes } from './routes.ts'

const BASE = '/ui'
const FIRST_PAGE = '/overview'

/** `pathname`: of the browser's address. A page without a route, or whose code does not come, is shown as such later. */
export function preloadPage(pathname: string): void {
  const path = pathname.slice(BASE.length).replace(/\/$/, '') || FIRST_PAGE
  const route = routes.find((one) => matchesPath(one.path, path))
  void route?.load().catch(() => undefined)
}

function matchesPath(pattern: string, path: string): boolean {
  const [parts, given] = [pattern.split('/'), path.split('/')]
  return parts.length === given.length && parts.every((part, at) => part.startsWith(':') || part === given[at])
}
