/**
 * Finds sweeps of links. A *link sweep* is an address that follows most links of a message at once, as scanners do:
 * more than half of them, of four or more, within ten seconds.
 *
 * The clicks of an address are kept in memory for that time, so a sweep during a restart may be missed. Each click
 * removes two pairs of email and address whose time is over. Limits: 50,000 clicks, those of the pairs that clicked
 * last; 1,000 of each pair.
 */

import { addressKeyOf } from '../../base/platform/connections/client-address.js'
import { createLruCache, type LruCache } from '../../base/platform/lru-cache.js'

/** Milliseconds in which the clicks of a sweep follow each other. */
const SWEEP_TIME = 10_000
const MIN_LINKS = 4
const MAX_CLICKS = 50_000
const MAX_OF_PAIR = 1_000
/** The pairs that one click removes: more than one, so that the number of pairs can fall. */
const REMOVED_PER_CLICK = 2

interface Click {
  readonly linkId: string
  readonly eventId: string
  readonly at: number
}

interface SeenClick extends Click {
  /** True if the click was found to belong to a sweep. */
  swept: boolean
}

interface NewClick extends Click {
  readonly emailId: string
  readonly address: string
}

export class LinkSweeps {
  private readonly recent: LruCache<SeenClick[]> = createLruCache({
    max: MAX_CLICKS,
    weightOf: (clicks) => clicks.length,
  })

  /** The number of clicks in memory. */
  get size(): number {
    return this.recent.calculatedSize
  }

  /**
   * Adds a click. Returns null if it belongs to no sweep, else the earlier clicks of the sweep that were not found
   * before. `countLinks` returns how many links the email has. It is called only if the answer matters. Add one click
   * after another.
   */
  async add(
    { emailId, address, linkId, eventId, at }: NewClick,
    countLinks: () => Promise<number>,
  ): Promise<readonly Click[] | null> {
    const key = `${emailId} ${addressKeyOf(address)}`
    const earlier = (this.recent.get(key) ?? []).filter((click) => at - click.at <= SWEEP_TIME).slice(1 - MAX_OF_PAIR)
    const followed = new Set([...earlier.map((click) => click.linkId), linkId]).size
    const swept = await isSweep(followed, countLinks)
    const found = swept ? earlier.filter((click) => !click.swept) : []
    for (const click of found) click.swept = true
    this.removeOld(at)
    this.recent.set(key, [...earlier, { linkId, eventId, at, swept }])
    return swept ? found : null
  }

  /** Removes old clicks of the pairs that clicked least recently. */
  private removeOld(now: number): void {
    const oldest = this.recent.rkeys()
    for (let count = 0; count < REMOVED_PER_CLICK; count += 1) {
      const { value: key } = oldest.next()
      const last = key === undefined ? undefined : this.recent.peek(key)?.at(-1)
      if (key === undefined || last === undefined || now - last.at <= SWEEP_TIME) return
      this.recent.delete(key)
    }
  }
}

async function isSweep(followed: number, countLinks: () => Promise<number>): Promise<boolean> {
  if (followed * 2 <= MIN_LINKS) return false
  const links = await countLinks()
  return links >= MIN_LINKS && followed * 2 > links
}
