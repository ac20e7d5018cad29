/**
 * A broadcast as clients see it, with the counts of its recipients and their rates.
 *
 * The counts follow the metrics: `sent` counts all messages that left, `delivered` includes complaints, and no rate
 * exceeds 100.
 */
import { writeNamedAddress } from '../../base/mail/named-address.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import { keysOf } from '../../base/platform/records.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { parseJson, type Timestamp } from '../../base/storage/tables/columns.js'
import type { StoredBlocks } from '../../base/storage/tables/content-tables.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import { percentageOf, type Rates, ratesOf } from '../../records/metrics/summary.js'
import type { Broadcast, BroadcastRef, BroadcastSummary } from './broadcast-records.js'

type CountColumn = Exclude<keyof Tables['broadcast_counts'], 'broadcast_id' | 'workspace_id' | 'slot'>
export type BroadcastCounts = Pick<Tables['broadcast_counts'], CountColumn>

const noCounts: BroadcastCounts = {
  recipients: 0,
  scheduled: 0,
  queued: 0,
  sent: 0,
  delivered: 0,
  bounced: 0,
  failed: 0,
  cancelled: 0,
  complained: 0,
  unique_opens: 0,
  unique_clicks: 0,
  unsubscribed: 0,
}

const selectCounts = prepareRead<BroadcastRef>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_counts')
    .select((eb) => keysOf(noCounts).map((column) => eb.fn.sum<number | null>(column).as(column)))
    .where('broadcast_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

interface Totals {
  readonly recipients: number
  readonly queued: number
  readonly sent: number
  readonly delivered: number
  readonly bounced: number
  readonly failed: number
  readonly cancelled: number
  readonly complained: number
  readonly unsubscribed: number
  readonly unique_opens: number
  readonly unique_clicks: number
}

interface BroadcastRates extends Rates {
  readonly unsubscribe_rate: number
}

export interface ListedBroadcast extends Totals {
  readonly id: string
  readonly name: string
  readonly audience_id: string
  readonly from: string
  readonly reply_to: string[]
  readonly subject: string | null
  readonly template_id: string | null
  readonly status: Broadcast['status']
  readonly scheduled_for: string | null
  readonly created_at: string
  readonly updated_at: string
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly rates: BroadcastRates
  readonly waits_until: string | null
  readonly note: string | null
  readonly not_opened_of: string | null
}

export interface BroadcastResource extends ListedBroadcast {
  readonly html: string | null
  readonly text: string | null
  readonly blocks: StoredBlocks | null
}

/** Returns the counts of a broadcast; zeros if the broadcast is gone. */
export async function readTotals(read: Read, ref: BroadcastRef): Promise<Totals> {
  const [sums] = await selectCounts(read, ref)
  const counts = { ...noCounts }
  for (const column of keysOf(noCounts)) counts[column] = sums?.[column] ?? 0
  return toTotals(counts)
}

export async function toListedBroadcast(read: Read, broadcast: BroadcastSummary): Promise<ListedBroadcast> {
  const { id, workspace_id: workspaceId, name, audience_id, sender, reply_to, subject, template_id } = broadcast
  const totals = await readTotals(read, { workspaceId, id })
  return {
    ...{ id, name, audience_id },
    from: writeNamedAddress(parseJson(sender)),
    reply_to: parseJson(reply_to).map(writeNamedAddress),
    ...{ subject, template_id, status: broadcast.status },
    scheduled_for: toTime(broadcast.scheduled_for),
    created_at: formatTimestamp(broadcast.created_at),
    updated_at: formatTimestamp(broadcast.updated_at),
    started_at: toTime(broadcast.started_at),
    finished_at: toTime(broadcast.finished_at),
    ...totals,
    rates: ratesOfBroadcast(totals),
    waits_until: toTime(broadcast.waits_until),
    note: broadcast.note,
    not_opened_of: broadcast.not_opened_of,
  }
}

export async function toBroadcastResource(read: Read, broadcast: Broadcast): Promise<BroadcastResource> {
  const { html, text, blocks } = broadcast
  const document = blocks === null ? null : parseJson(blocks)
  return { ...(await toListedBroadcast(read, broadcast)), html, text, blocks: document }
}

/** Makes totals from the emails in each status. `scheduled` is always 0, because messages are made when due. */
export function toTotals(counts: BroadcastCounts): Totals {
  const { recipients, queued, sent, delivered, bounced, failed, cancelled, complained } = counts
  const { unsubscribed, unique_opens, unique_clicks } = counts
  const arrived = delivered + complained
  const left = sent + arrived + bounced
  return {
    ...{ recipients, queued, sent: left, delivered: arrived, bounced, failed, cancelled, complained },
    ...{ unsubscribed, unique_opens, unique_clicks },
  }
}

export function ratesOfBroadcast(totals: Totals): BroadcastRates {
  return { ...ratesOf(totals), unsubscribe_rate: percentageOf(totals.unsubscribed, totals.delivered) }
}

function toTime(at: Timestamp | null): string | null {
  return at === null ? null : formatTimestamp(at)
}
