/** A webhook of the workspace `ws_1`, as the route stores it. */
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { EventType } from '../../../src/base/storage/tables/email-tables.js'
import { insertWebhook, type WebhookRef } from '../../../src/workspaces/webhooks/webhook-records.js'

interface Choice {
  readonly workspaceId?: string
  readonly events?: readonly EventType[]
  readonly url?: string
  readonly now?: number
}

export async function createWebhook(
  { commit }: Pick<Database, 'commit'>,
  { workspaceId = 'ws_1', events = ['email.sent'], url = 'https://hooks.example/', now = 1 }: Choice = {},
): Promise<WebhookRef> {
  const id = `wh_${uuidv7(now)}`
  await commit([insertWebhook({ id, workspaceId, url, events: toJson(events), secret: `whsec_${id}`, now })])
  return { workspaceId, id }
}
