/**
 * Finds API keys for the listeners: looked up once, cached in memory, checked on every use.
 *
 * The cache has rows, not results: expiry and networks are checked each time. It is dropped when
 * another process may have changed keys or members; a key that we revoke is dropped alone. So a
 * revocation takes effect at once. `last_used_at` is written at most once a minute for each key.
 *
 * Limit: 10,000 keys, and their times of last use. Unknown keys are not cached, so guesses do not
 * fill it.
 */
import type { Clock } from '../../../base/platform/clock.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Principal } from '../access/principal.js'
import { hashKey, keyByHash, keyById, touchKey } from './api-keys.js'
import { authenticateKey, type KeyWithRole } from './key-check.js'

const MAX_KEYS = 10_000
const TOUCH_INTERVAL = 60_000

export interface ApiKeyCache {
  /** The principal of this key. Throws a Refusal `bad-credentials`, `key-expired` or `forbidden` (for the address). */
  readonly authenticate: (secret: string, remoteAddress: string) => Principal
  /** False once the principal's key is revoked or expired. */
  readonly isStillValid: (principal: Principal) => boolean
  /** Drops a key that was revoked. */
  readonly forget: (keyId: string) => void
  /** Drops all keys: another process has changed the database. */
  readonly drop: () => void
}

interface ApiKeyCacheDeps extends Store {
  readonly clock: Clock
}

export function createApiKeyCache({ read, commit, clock }: ApiKeyCacheDeps): ApiKeyCache {
  const byId = new Map<string, KeyWithRole>()
  const rows = createLruCache<KeyWithRole>({ max: MAX_KEYS, onRemove: ({ id }) => byId.delete(id) })
  const lastTouched = createLruCache<number>({ max: MAX_KEYS })

  function find(hash: string): KeyWithRole | undefined {
    const known = rows.get(hash)
    if (known !== undefined) return known
    const row = keyByHash(read, { hash })[0]
    if (row !== undefined) remember(row)
    return row
  }

  function remember(row: KeyWithRole): void {
    rows.set(row.key_hash, row)
    byId.set(row.id, row)
  }

  function touch(id: string, now: number): void {
    if (now - (lastTouched.get(id) ?? 0) < TOUCH_INTERVAL) return
    lastTouched.set(id, now)
    // A lost time of last use does no harm: the next use writes it again.
    commit([touchKey({ id, at: now })]).catch(() => lastTouched.delete(id))
  }

  return {
    authenticate: (secret, remoteAddress) => {
      const now = clock()
      const principal = authenticateKey(find(hashKey(secret)), remoteAddress, now)
      if (principal.keyId !== null) touch(principal.keyId, now)
      return principal
    },
    isStillValid: ({ keyId, workspaceId }) => {
      if (keyId === null) return true
      const row = byId.get(keyId) ?? keyById(read, { workspaceId, id: keyId })[0]
      if (row === undefined || row.workspace_id !== workspaceId) return false
      if (row.revoked_at !== null || row.role === null) return false
      remember(row)
      return row.expires_at === null || row.expires_at > clock()
    },
    forget: (keyId) => {
      const row = byId.get(keyId)
      if (row !== undefined) rows.delete(row.key_hash)
    },
    drop: () => rows.clear(),
  }
}
