/**
 * Counts what was accepted, delivered, deferred, bounced and received in a stretch of time, from the event log.
 *
 * Up to `MAX_READ` events are counted one by one. If there are more, portions spread evenly over the stretch are
 * counted and scaled up (`exact` is false), so that the cost does not grow with the traffic. The service's own mail has
 * no events.
 */

import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP } from '../../../base/storage/db/stepped-walk.js'
import { seqAtTime } from '../../../records/events/event-times.js'

const PORTIONS = 20
const MAX_READ = PORTIONS * ROW_STEP
const MAX_SENDERS = 20

interface Counts {
  /** Recipients that were queued. */
  readonly accepted: number
  /** Handed to the recipient's server, or to the next one that answers for it. */
  readonly delivered: number
  readonly deferred: number
  /** Refused permanently, or given up. */
  readonly bounced: number
  /** Inbound messages that were filed. */
  readonly received: number
}

export interface Activity extends Counts {
  /** Length of the stretch in seconds. */
  readonly seconds: number
  readonly exact: boolean
  /** Workspaces by recipients accepted, most first. */
  readonly senders: readonly { readonly workspace_id: string; readonly accepted: number }[]
}

const nextEvents = prepareRead<{ from: number; before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'type', 'workspace_id'])
    .where('seq', '>=', slot('from'))
    .where('seq', '<', slot('before'))
    .orderBy('seq')
    .limit(slot('limit')),
)

/** A relayed message has `email.sent` alone, a delivered one has both. */
const columns: Readonly<Record<string, keyof Counts>> = {
  'email.queued': 'accepted',
  'email.sent': 'delivered',
  'email.deferred': 'deferred',
  'email.bounced': 'bounced',
  'email.failed': 'bounced',
  'email.received': 'received',
}

/** `seconds` until `now`. */
export async function readActivity(read: Read, now: number, seconds: number): Promise<Activity> {
  const from = await seqAtTime(read, now - seconds * 1_000)
  const before = await seqAtTime(read, now + 1)
  const total = Math.max(0, before - from)
  const counts = { accepted: 0, delivered: 0, deferred: 0, bounced: 0, received: 0 }
  const senders = new Map<string, number>()
  const portions = Math.min(PORTIONS, Math.ceil(total / ROW_STEP))
  const stride = Math.max(ROW_STEP, Math.floor(total / PORTIONS))
  let looked = 0
  for (let portion = 0; portion < portions; portion += 1) {
    const start = from + portion * stride
    const end = Math.min(before, start + stride)
    for (const { type, workspace_id } of await nextEvents(read, { from: start, before: end, limit: ROW_STEP })) {
      looked += 1
      const column = columns[type]
      if (column === undefined) continue
      counts[column] += 1
      if (column === 'accepted') senders.set(workspace_id, (senders.get(workspace_id) ?? 0) + 1)
    }
  }
  const exact = total <= MAX_READ
  return { seconds, exact, ...scale(counts, senders, exact || looked === 0 ? 1 : total / looked) }
}

function scale(
  counts: Counts,
  senders: ReadonlyMap<string, number>,
  factor: number,
): Omit<Activity, 'seconds' | 'exact'> {
  const { accepted, delivered, deferred, bounced, received } = counts
  const scaled = (count: number): number => Math.round(count * factor)
  const largest = [...senders].sort(([, one], [, other]) => other - one).slice(0, MAX_SENDERS)
  return {
    accepted: scaled(accepted),
    delivered: scaled(delivered),
    deferred: scaled(deferred),
    bounced: scaled(bounced),
    received: scaled(received),
    senders: largest.map(([workspace_id, count]) => ({ workspace_id, accepted: scaled(count) })),
  }
}
