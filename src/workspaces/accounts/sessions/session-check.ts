/**
 * Sessions as the REST listener uses them: the token of a cookie becomes the session of a user.
 *
 * The session is read from the database at each request, so its end takes effect at once, whichever process
 * ended it. Its time of last use is written at most once a minute.
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

/** Null: the token opens no session. */
export type CheckSession = (token: string) => OpenSession | null

interface SessionCheckDeps extends Store {
  readonly sessionTimes: () => Pick<SessionTimes, 'idle'>
  readonly clock: Clock
}

export function createSessionCheck({ read, commit, clock, sessionTimes }: SessionCheckDeps): CheckSession {
  const lastTouched = createLruCache<number>({ max: MAX_TOUCHED })

  function touch(id: string, usedAt: number, now: number): void {
    if (now - usedAt < TOUCH_INTERVAL) return
    lastTouched.set(id, now)
    // A lost time of last use is written again by the next request.
    commit([touchSession({ id, at: now })]).catch(() => lastTouched.delete(id))
  }

  return (token) => {
    const [row] = sessionByToken(read, { hash: hashToken(token) })
    if (row === undefined) return null
    const now = clock()
    const usedAt = Math.max(row.last_used_at, lastTouched.get(row.id) ?? 0)
    if (row.expires_at <= now || usedAt + sessionTimes().idle <= now) return null
    touch(row.id, usedAt, now)
    return { id: row.id, userId: row.user_id, expiresAt: row.expires_at }
  }
}
