/**
 * Lists the links of a broadcast that persons clicked, from the events of its messages. The log records the first click
 * of each message. Events that retention has removed are not counted.
 */
import { sql } from 'kysely'
import { jsonFlag, jsonText, urlOfClick } from '../../base/storage/db/dialect.js'
import { prepareLongRead, type Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { BroadcastRef } from './broadcast-records.js'

/** The index entries that one step reads. */
const STEP = 1_000
/** The most URLs that are counted. Links with variables may have one URL for each recipient. */
const MAX_URLS = 10_000

/**
 * These expressions and conditions must be the same as in the index `clicks_of_broadcasts`. The row itself is read only
 * for a URL that the index does not have.
 */
const clicksAfter = prepareLongRead<BroadcastRef & { seq: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', jsonFlag('data', 'machine').as('machine'), urlOfClick().as('url')])
    .where('workspace_id', '=', slot('workspaceId'))
    .where(jsonText('data', 'broadcast_id'), '=', slot('id'))
    .where(sql<boolean>`type = 'email.clicked' and email_id >= 'bc-' and email_id < 'bc.'`)
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(STEP),
)

interface ClickedLink {
  readonly url: string
  readonly clicks: number
}

/** Returns the most clicked links first. */
export async function listClickedLinks(read: Read, ref: BroadcastRef, limit: number): Promise<readonly ClickedLink[]> {
  const clicks = new Map<string, number>()
  let seq = 0
  for (;;) {
    const rows = await clicksAfter(read, { ...ref, seq })
    for (const { url, machine } of rows) {
      const known = clicks.get(url)
      if (machine === 0 && (known !== undefined || clicks.size < MAX_URLS)) clicks.set(url, (known ?? 0) + 1)
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < STEP) break
    seq = last.seq
    await waitForStep()
  }
  const sorted = [...clicks].sort(([, one], [, other]) => other - one)
  return sorted.slice(0, limit).map(([url, count]) => ({ url, clicks: count }))
}
