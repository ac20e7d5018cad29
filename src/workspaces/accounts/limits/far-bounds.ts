/**
 * Tells bounds that are so far that no commit under way can reach them. Such commits need no turn, so nodes that accept
 * mail of one owner do not wait for each other until a limit comes near. From then on they are made in turn, and the limit
 * is reached to the last email.
 *
 * A count that is used is a second old at most, and a commit is refused if it is not made within some seconds. Until then
 * `MUCH_ROOM` emails of one owner would have to be accepted: more than 10,000 a second.
 */
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { hasSeveralWriters } from '../../../base/storage/db/slots.js'
import { type Bound, sumSince } from './usage.js'

const MUCH_ROOM = 100_000
/** Milliseconds for which a count is used. */
const COUNT_AGE = 1_000
const MAX_COUNTS = 10_000

export class FarBounds {
  private readonly counts = createLruCache<{ readonly used: number; readonly readAt: number }>({ max: MAX_COUNTS })

  constructor(private readonly read: Read) {}

  async areFar(owner: string, bounds: readonly Bound[], now: number): Promise<boolean> {
    if (!hasSeveralWriters()) return true
    if (bounds.some(({ atMost }) => atMost < MUCH_ROOM)) return false
    for (const bound of bounds) if (bound.atMost - (await this.count(owner, bound, now)) < MUCH_ROOM) return false
    return true
  }

  private async count(owner: string, { kind, since }: Bound, now: number): Promise<number> {
    const key = `${owner} ${kind}`
    const known = this.counts.get(key)
    const age = known === undefined ? -1 : now - known.readAt
    if (known !== undefined && age >= 0 && age < COUNT_AGE) return known.used
    const used = await sumSince(this.read, owner, kind, since)
    this.counts.set(key, { used, readAt: now })
    return used
  }
}
