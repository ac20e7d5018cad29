/**
 * Checks sessions for the REST listener: the token of a cookie becomes the session of a user.
 *
 * We read the session from the database at each request, so its end takes effect at once, whichever process ended
 * it. We write its time of last use at most once a minute.
 */
import type { Clock } from '../../../base/platform/clock.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Store } from '../../../base/storage/db/database.js'
import { hashToken, type SessionTimes, sessionByToken, touchSession } from './session-records.js'

const TOUCH_INTERVAL = 60_000
const MAX_TOUCHED = 10_000

/** A session that has not ended. */
export interface OpenSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: number
}

interface SessionCheckDeps extends Store {
  readonly sessionTimes: () => Pick<SessionTimes, 'idle'>
  readonly clock: Clock
}

export class SessionCheck {
  private readonly lastTouched = createLruCache<number>({ max: MAX_TOUCHED })

  constructor(private readonly deps: SessionCheckDeps) {}

  /** Null if the token opens no session. */
  async find(token: string): Promise<OpenSession | null> {
    const { read, clock, sessionTimes } = this.deps
    const [row] = await sessionByToken(read, { hash: hashToken(token) })
    if (row === undefined) return null
    const now = clock()
    const usedAt = Math.max(row.last_used_at, this.lastTouched.get(row.id) ?? 0)
    if (row.expires_at <= now || usedAt + sessionTimes().idle <= now) return null
    this.touch(row.id, usedAt, now)
    return { id: row.id, userId: row.user_id, expiresAt: row.expires_at }
  }

  private touch(id: string, usedAt: number, now: number): void {
    if (now - usedAt < TOUCH_INTERVAL) return
    this.lastTouched.set(id, now)
    // A lost time of last use is written again by the next request.
    this.deps.commit([touchSession({ id, at: now })]).catch(() => this.lastTouched.delete(id))
  }
}
