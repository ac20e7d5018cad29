/**
 * Keeps HTML that a page wants to show in a frame: a template or a draft that is not stored yet.
 *
 * It stays in memory for ten minutes, for the session that sent it. Limits: 1,000,000 characters each, 32 MB in all;
 * the least recently used is removed first.
 */
import { randomSecret } from '../../../base/platform/ids.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'

/** Characters. */
export const MAX_PREVIEW = 1_000_000
const MAX_BYTES = 32 * 1_048_576
const LIFETIME = 600_000

interface Preview {
  /** UTF-8. */
  readonly html: Buffer
  readonly sessionId: string
  readonly expiresAt: number
}

export interface Previews {
  /** Returns the id. */
  readonly add: (sessionId: string, html: string, now: number) => string
  /** Null if there is none of this session. */
  readonly find: (sessionId: string, id: string, now: number) => Buffer | null
}

export function createPreviews(): Previews {
  const previews = createLruCache<Preview>({ max: MAX_BYTES, weightOf: ({ html }) => html.length + 200 })
  return {
    add: (sessionId, html, now) => {
      const id = randomSecret(16).toString('base64url')
      previews.set(id, { html: Buffer.from(html), sessionId, expiresAt: now + LIFETIME })
      return id
    },
    find: (sessionId, id, now) => {
      const found = previews.get(id)
      return found?.sessionId === sessionId && found.expiresAt > now ? found.html : null
    },
  }
}
