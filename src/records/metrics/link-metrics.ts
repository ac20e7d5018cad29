/**
 * Lists the links that persons clicked most in the emails of some days.
 *
 * The time does not grow with the number of URLs: an index gives the most clicked ones of each day, and only the
 * leaders by these counts are added up over all days. So the list is exact among the URLs that are in the first 200 of
 * some day (500 of each in up to 40 days). A URL that never is may be missing, even if it has clicks on many days. Where
 * several writers count, the first ones of a day are those of its rows, of which a URL may have one for each writer.
 */

import { DAY } from '../../base/platform/time-units.js'
import { isInJsonNumbers } from '../../base/storage/db/dialect.js'
import type { PageSlice } from '../../base/storage/db/paging.js'
import { prepareLongRead, type Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import { type Json, type Timestamp, toJson } from '../../base/storage/tables/columns.js'
import type { Window } from './window.js'

/** The most links in the list. */
export const MAX_LISTED_LINKS = 500
/** Links after the last one of the page that are also added up, because clicks on other days may move them forward. */
const RESERVE = 100
/** The links that are added up in one step. */
const SUM_STEP = 5
/** The most links that are read of all days, and the fewest that are read of one day. */
const MAX_READ = 20_000
const MIN_OF_DAY = 200
/** The most characters of URLs in memory, and how many URLs are kept even if they exceed that. */
const MAX_CHARACTERS = 16_000_000
const KEPT = 1_000

interface OfDomain {
  readonly workspaceId: string
  /** The sender's domain. Empty for all domains. */
  readonly domain: string
}

const leadersOfDay = prepareLongRead<OfDomain & { day: Timestamp; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('link_metrics')
    .select(['url', 'clicks'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('day', '=', slot('day'))
    .orderBy('clicks', 'desc')
    .orderBy('url')
    .limit(slot('limit')),
)

const sumsOfLink = prepareLongRead<OfDomain & { url: string; days: Json<readonly Timestamp[]> }>()(({ db, slot }) =>
  db
    .selectFrom('link_metrics')
    .select((eb) => [
      eb.fn.sum<number | null>('clicks').as('clicks'),
      eb.fn.sum<number | null>('unique_clicks').as('unique_clicks'),
      eb.fn.min<number | null>('first_clicked_at').as('first_clicked_at'),
      eb.fn.max<number | null>('last_clicked_at').as('last_clicked_at'),
    ])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where(isInJsonNumbers('day', slot('days')))
    .where('url', '=', slot('url')),
)

interface LinkClicks {
  readonly url: string
  readonly clicks: number
  readonly unique_clicks: number
  readonly first_clicked_at: Timestamp
  readonly last_clicked_at: Timestamp
}

interface LinksRequest extends OfDomain {
  /** Whole days (UTC) of this window are read. */
  readonly window: Window
  readonly slice: PageSlice
}

export async function readLinkMetrics(read: Read, request: LinksRequest): Promise<readonly LinkClicks[]> {
  const { workspaceId, domain, window, slice } = request
  const start = window.start - (window.start % DAY)
  const limit = Math.min(MAX_LISTED_LINKS, Math.max(MIN_OF_DAY, Math.floor((MAX_READ * DAY) / (window.end - start))))
  const found = new Candidates()
  const days: Timestamp[] = []
  for (let day = start; day < window.end; day += DAY) {
    if (day > start) await waitForStep()
    const links = await leadersOfDay(read, { workspaceId, domain, day, limit })
    if (links.length > 0) days.push(day)
    for (const { url, clicks } of links) found.add(url, clicks)
  }
  const end = Math.min(slice.offset + slice.limit, MAX_LISTED_LINKS)
  await waitForStep()
  const least = found.leastOf(end + RESERVE)
  await waitForStep()
  const urls = found.leaders(end + RESERVE, least).map(([url]) => url)
  const sums = await addUp(read, { workspaceId, domain, days, urls })
  return sums.toSorted(compareLinks).slice(slice.offset, end)
}

interface SumRequest extends OfDomain {
  readonly days: readonly Timestamp[]
  readonly urls: readonly string[]
}

async function addUp(read: Read, { workspaceId, domain, days, urls }: SumRequest): Promise<readonly LinkClicks[]> {
  const list = toJson(days)
  const sums: LinkClicks[] = []
  for (const [place, url] of urls.entries()) {
    if (place % SUM_STEP === 0) await waitForStep()
    const [sum] = await sumsOfLink(read, { workspaceId, domain, url, days: list })
    const { clicks, unique_clicks, first_clicked_at, last_clicked_at } = sum ?? {}
    if (clicks == null || unique_clicks == null || first_clicked_at == null || last_clicked_at == null) continue
    // All were taken back, by another writer than the one that had counted them.
    if (clicks <= 0) continue
    sums.push({ url, clicks, unique_clicks, first_clicked_at, last_clicked_at })
  }
  return sums
}

/** URLs with the clicks found so far. If they take too much memory, those with the fewest clicks are dropped. */
class Candidates {
  private clicks = new Map<string, number>()
  private characters = 0

  add(url: string, clicks: number): void {
    const before = this.clicks.get(url)
    if (before === undefined) this.characters += url.length
    this.clicks.set(url, (before ?? 0) + clicks)
    if (this.characters > MAX_CHARACTERS && this.clicks.size > KEPT) this.dropLast()
  }

  /**
   * Returns the clicks of the last of the `count` most clicked. It sorts the numbers that occur, which are few even if
   * there are many URLs, because sorting the URLs would take too long.
   */
  leastOf(count: number): number {
    const urlsWith = new Map<number, number>()
    for (const clicks of this.clicks.values()) urlsWith.set(clicks, (urlsWith.get(clicks) ?? 0) + 1)
    let [room, least] = [count, Number.POSITIVE_INFINITY]
    for (const [clicks, urls] of [...urlsWith].toSorted(([one], [other]) => other - one)) {
      if (room <= 0) break
      room -= urls
      least = clicks
    }
    return least
  }

  /** Returns the `count` most clicked, in any order. `least` comes from `leastOf`. */
  leaders(count: number, least: number): readonly [url: string, clicks: number][] {
    const more: [string, number][] = []
    const equal: [string, number][] = []
    for (const link of this.clicks) {
      if (link[1] > least) more.push(link)
      else if (link[1] === least && equal.length < count) equal.push(link)
    }
    return [...more, ...equal].slice(0, count)
  }

  private dropLast(): void {
    this.clicks = new Map(this.leaders(KEPT, this.leastOf(KEPT)))
    this.characters = 0
    for (const url of this.clicks.keys()) this.characters += url.length
  }
}

function compareLinks(one: LinkClicks, other: LinkClicks): number {
  if (one.clicks !== other.clicks) return other.clicks - one.clicks
  return one.url < other.url ? -1 : 1
}
