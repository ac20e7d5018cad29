/**
 * The queue by state, age and reason, from the census. The census counts in short steps between other work, and its
 * last count is used while a long one is under way.
 */

import { AGE_BOUNDS, type QueueCensus } from '../../records/messages/queue/queue-census.js'
import { queueStatuses } from '../../records/messages/queue/queue-status.js'
import { type WaitReason, waitReasons } from '../../records/messages/queue/wait-reason.js'
import type { Metrics } from './registry.js'

interface ReportedQueue {
  readonly readCensus: () => Promise<QueueCensus>
  readonly now: () => number
}

export function reportQueue(metrics: Metrics, { readCensus, now }: ReportedQueue): void {
  const entries = metrics.gauge({
    name: 'posthorn_queue_entries',
    help: 'Entries of the queue (one is one recipient of one message), by state.',
    labels: { state: queueStatuses },
  })
  const byReason = metrics.gauge({
    name: 'posthorn_queue_reason_entries',
    help: 'Entries of the queue by what they wait for, or by the reason of their last attempt.',
    labels: { reason: waitReasons },
  })
  const byAge = metrics.gauge({
    name: 'posthorn_queue_aged_entries',
    help: 'Entries of the queue whose acceptance, or scheduled time, is longer ago.',
    labels: { older_than: Object.keys(AGE_BOUNDS) },
  })
  const oldest = metrics.gauge({
    name: 'posthorn_queue_oldest_seconds',
    help: 'Age of the oldest entry that is not scheduled for later; 0 if the queue is empty.',
  })
  const counted = metrics.gauge({
    name: 'posthorn_queue_counted_timestamp_seconds',
    help: 'When the count of the queue began that these metrics show. It is older than a minute only for a long queue.',
  })
  metrics.onScrape(async () => {
    const census = await readCensus()
    for (const state of queueStatuses) entries.set([state], census.all.states[state])
    const reasons = sumByReason(census)
    for (const reason of waitReasons) byReason.set([reason], reasons.get(reason) ?? 0)
    for (const [bound, count] of Object.entries(census.ages)) byAge.set([bound], count)
    oldest.set([], census.all.total === 0 ? 0 : Math.max(0, now() - census.all.oldestAt) / 1_000)
    counted.set([], census.countedAt / 1_000)
  })
}

function sumByReason({ providers }: QueueCensus): ReadonlyMap<WaitReason, number> {
  const sums = new Map<WaitReason, number>()
  for (const { reasons } of providers.values())
    for (const [reason, { total }] of reasons) sums.set(reason, (sums.get(reason) ?? 0) + total)
  return sums
}
