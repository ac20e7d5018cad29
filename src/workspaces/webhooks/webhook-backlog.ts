/** Counts how far the delivery of events is behind, for the operator. */
import { readNewestInSlot, readSlots } from '../../base/storage/db/event-slots.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import { readCursors, readEnabledWebhooks } from './dispatch-records.js'
import type { Webhook } from './webhook-records.js'

/** Pages of 100 webhooks that one count reads. */
const MAX_PAGES = 50

interface WebhookBacklog {
  /** Enabled webhooks that were counted, at most 5,000. */
  readonly webhooks: number
  /** Webhooks whose last attempts failed. */
  readonly failing: number
  /**
   * Events of the service that the slowest webhook has not reached yet. Where several nodes deliver, it is the difference of
   * numbers within the slowest slot, which is at least that.
   */
  readonly behind: number
}

export async function readWebhookBacklog(read: Read): Promise<WebhookBacklog> {
  const newest = await readNewest(read)
  const backlog = { webhooks: 0, failing: 0, behind: 0 }
  let pages = 0
  for await (const page of readEnabledWebhooks(read)) {
    for (const webhook of page) {
      backlog.webhooks += 1
      if (webhook.failing_since !== null) backlog.failing += 1
      backlog.behind = Math.max(backlog.behind, await countBehind(read, webhook, newest))
    }
    pages += 1
    if (pages === MAX_PAGES) break
    await waitForStep()
  }
  return backlog
}

/** The newest event of each slot. */
async function readNewest(read: Read): Promise<ReadonlyMap<number, number>> {
  const slots = await readSlots(read)
  return new Map(await Promise.all(slots.map(async (slot) => [slot, await readNewestInSlot(read, slot)] as const)))
}

async function countBehind(read: Read, webhook: Webhook, newest: ReadonlyMap<number, number>): Promise<number> {
  const cursors = await readCursors(read, webhook, [...newest.keys()])
  return Math.max(0, ...[...cursors].map(([slot, cursor]) => (newest.get(slot) ?? 0) - cursor))
}
