/**
 * Finds the place that a request leads to, by its target: the API, the interface of pages in a browser, or a page. The
 * API is served under `/v1`, `/api/v1` and without a prefix.
 */
import type { IncomingMessage } from 'node:http'

/**
 * The prefix of a group of endpoints. It is empty for pages, which have complete paths. `compatible:NAME` is the
 * group of paths that belong to clients of a hosted service; it has no prefix.
 */
export type Mount = '' | '/v1' | `compatible:${string}` | '/ui/api' | '/ui/api/v1'

/** The target of a request. `path` is below the mount and not decoded, since the router compares text. */
export interface Place {
  readonly mount: Mount
  readonly path: string
}

/** RFC 8461 section 3.3. */
export const POLICY_PATH = '/.well-known/mta-sts.txt'

/** The place of a request. `hasSessions` says that sessions are served, and not pages alone. */
export function placeOf({ url = '', method, headers }: IncomingMessage, hasSessions: boolean): Place {
  const path = stripHost(pathOf(url))
  if (stripMount(path, '/ui') !== null) {
    for (const mount of hasSessions ? SESSION_MOUNTS : []) {
      const below = stripMount(path, mount)
      if (below !== null) return { mount, path: below }
    }
    return { mount: '', path }
  }
  const isRead = method === 'GET' || method === 'HEAD'
  // The root is a page only for clients that accept HTML.
  const isStartPage = path === '/' && isRead && /\btext\/html\b/i.test(headers.accept ?? '')
  if (isStartPage || path === POLICY_PATH) return { mount: '', path }
  const full = joinFirstSlashes(path)
  return { mount: '/v1', path: joinFirstSlashes(stripMount(full, '/v1') ?? stripMount(full, '/api/v1') ?? full) }
}

const SESSION_MOUNTS = ['/ui/api/v1', '/ui/api'] as const

/** Whether the request is for a page or a file of the dashboard, existing or not. */
export function isPage({ mount, path }: Place): boolean {
  return mount === '' && path !== POLICY_PATH
}

/** Whether the request is for a route under `/ui/api`. */
export function isForSessions({ mount }: Place): boolean {
  return mount === '/ui/api' || mount === '/ui/api/v1'
}

/** The path as people know it: that of the API without its version. */
export function nameOf({ mount, path }: Place): string {
  return mount === '/v1' || serviceOf(mount) !== null ? path : mount + path
}

/** The name of the hosted service whose paths these are. Null for ours. */
export function serviceOf(mount: Mount): string | null {
  return mount.startsWith('compatible:') ? mount.slice('compatible:'.length) : null
}

/** The part of a request target before its query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/** Null if the path is not below the mount. */
function stripMount(path: string, mount: string): string | null {
  const next = path[mount.length]
  return path.startsWith(mount) && (next === '/' || next === undefined) ? path.slice(mount.length) || '/' : null
}

/** Clients whose base URL ends with a slash write two. The path is compared with ours, and never becomes a URL. */
function joinFirstSlashes(path: string): string {
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path
}

/** A target in absolute form, as sent to a proxy, has the host in it (RFC 9112 section 3.2.2). */
function stripHost(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/]*/i, '')
}
