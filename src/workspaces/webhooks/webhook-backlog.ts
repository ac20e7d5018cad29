/** Counts how far the delivery of events is behind, for the operator. */
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import { readEnabledWebhooks } from './dispatch-records.js'

/** Pages of 100 webhooks that one count reads. */
const MAX_PAGES = 50

const newestEvent = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('events').select('seq').orderBy('seq', 'desc').limit(1),
)

interface WebhookBacklog {
  /** Enabled webhooks that were counted, at most 5,000. */
  readonly webhooks: number
  /** Webhooks whose last attempts failed. */
  readonly failing: number
  /** Events of the service that the slowest webhook has not reached yet. */
  readonly behind: number
}

export async function readWebhookBacklog(read: Read): Promise<WebhookBacklog> {
  const newest = (await newestEvent(read, {}))[0]?.seq ?? 0
  const backlog = { webhooks: 0, failing: 0, behind: 0 }
  let pages = 0
  for await (const page of readEnabledWebhooks(read)) {
    for (const { failing_since, event_cursor } of page) {
      backlog.webhooks += 1
      if (failing_since !== null) backlog.failing += 1
      backlog.behind = Math.max(backlog.behind, newest - event_cursor)
    }
    pages += 1
    if (pages === MAX_PAGES) break
    await waitForStep()
  }
  return backlog
}
