/**
 * Finds addresses that follow most links of a message at once, as scanners do: more than half of them, of four or more,
 * within ten seconds.
 *
 * The clicks of an address are kept in memory for that time, so a sweep during a restart may go unnoticed. Limits: the
 * 20,000 latest pairs of email and address, 1,000 clicks of each.
 */
import { addressKeyOf } from '../accounts/client-address.js'
import { createLruCache, type LruCache } from '../platform/lru-cache.js'

interface SeenClick {
  readonly linkId: string
  readonly eventId: string
  readonly at: number
}

/** Milliseconds. */
const SWEEP_TIME = 10_000
const MIN_LINKS = 4
const MAX_PAIRS = 20_000
const MAX_CLICKS = 1_000

interface NewClick extends SeenClick {
  readonly emailId: string
  readonly address: string
}

export class LinkSweeps {
  private readonly recent: LruCache<SeenClick[]> = createLruCache({ max: MAX_PAIRS })

  /**
   * Adds a click. Null: it belongs to no sweep. Otherwise the earlier clicks of the sweep.
   * `countLinks`: how many links the email has; called only if the answer matters.
   */
  add({ emailId, address, linkId, eventId, at }: NewClick, countLinks: () => number): readonly SeenClick[] | null {
    const key = `${emailId} ${addressKeyOf(address)}`
    const earlier = (this.recent.get(key) ?? []).filter((click) => at - click.at <= SWEEP_TIME).slice(-MAX_CLICKS + 1)
    this.recent.set(key, [...earlier, { linkId, eventId, at }])
    const followed = new Set([...earlier.map((click) => click.linkId), linkId]).size
    if (followed * 2 <= MIN_LINKS) return null
    const links = countLinks()
    return links >= MIN_LINKS && followed * 2 > links ? earlier : null
  }
}
