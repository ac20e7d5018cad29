/**
 * Finds API keys for the listeners. It looks up a key once, caches it in memory and checks it on every use.
 *
 * The cache has rows, not results: it checks expiry and networks each time. We drop the whole cache when another
 * process has changed keys or members, and drop a key that we revoke alone. So a revocation takes effect at
 * once, also for a key whose row is being read at that moment. The cache writes `last_used_at` at most once a minute for
 * each key.
 *
 * Limit: 10,000 keys, and their times of last use. Unknown keys are not cached, so guesses do not fill it.
 */
import type { Clock } from '../../../base/platform/clock.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import { SharedLoads } from '../../../base/platform/shared-loads.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Awaitable } from '../../../base/storage/db/prepared.js'
import type { FollowsTables } from '../../../base/storage/db/table-changes.js'
import type { Principal } from '../access/principal.js'
import { hashKey, keyByHash, keyById, touchKey } from './api-keys.js'
import { authenticateKey, type KeyWithRole } from './key-check.js'

const MAX_KEYS = 10_000
const TOUCH_INTERVAL = 60_000

export class ApiKeyCache implements FollowsTables {
  readonly follows = ['api_keys', 'members'] as const

  private readonly byId = new Map<string, KeyWithRole>()
  private readonly rows = createLruCache<KeyWithRole>({ max: MAX_KEYS, onRemove: ({ id }) => this.byId.delete(id) })
  private readonly loads = new SharedLoads<KeyWithRole | undefined>()
  private readonly lastTouched = createLruCache<number>({ max: MAX_KEYS })

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the principal of this key. Throws a Refusal `bad-credentials` or `key-expired`, or `forbidden` for the
   * address.
   */
  async authenticate(secret: string, remoteAddress: string): Promise<Principal> {
    const row = await this.find(hashKey(secret))
    const now = this.clock()
    const principal = authenticateKey(row, remoteAddress, now)
    if (principal.keyId !== null) this.touch(principal.keyId, now)
    return principal
  }

  /** False once the principal's key is revoked or expired. */
  async isStillValid({ keyId, workspaceId }: Principal): Promise<boolean> {
    if (keyId === null) return true
    const row = this.byId.get(keyId) ?? (await this.loadById(workspaceId, keyId))
    if (row === undefined || row.workspace_id !== workspaceId) return false
    if (row.revoked_at !== null || row.role === null) return false
    return row.expires_at === null || row.expires_at > this.clock()
  }

  /** Drops a key that was revoked. */
  forget(keyId: string): void {
    const row = this.byId.get(keyId)
    if (row !== undefined) this.rows.delete(row.key_hash)
    this.loads.forgetAll()
  }

  /** Drops all keys, because keys or members have changed. */
  drop(): void {
    this.rows.clear()
    this.loads.forgetAll()
  }

  private find(hash: string): Awaitable<KeyWithRole | undefined> {
    return this.rows.get(hash) ?? this.load(hash, () => keyByHash(this.store.read, { hash }))
  }

  private loadById(workspaceId: string, id: string): Promise<KeyWithRole | undefined> {
    return this.load(`${workspaceId} ${id}`, () => keyById(this.store.read, { workspaceId, id }))
  }

  private load(name: string, read: () => Awaitable<readonly KeyWithRole[]>): Promise<KeyWithRole | undefined> {
    return this.loads.join(
      name,
      async () => (await read())[0],
      (row) => this.remember(row),
    )
  }

  private remember(row: KeyWithRole | undefined): void {
    if (row === undefined) return
    this.rows.set(row.key_hash, row)
    this.byId.set(row.id, row)
  }

  private touch(id: string, now: number): void {
    if (now - (this.lastTouched.get(id) ?? 0) < TOUCH_INTERVAL) return
    this.lastTouched.set(id, now)
    // A lost time of last use does no harm: the next use writes it again.
    this.store.commit([touchKey({ id, at: now })]).catch(() => this.lastTouched.delete(id))
  }
}
