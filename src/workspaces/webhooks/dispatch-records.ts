/**
 * Reads and writes the rows of webhooks and replays for the dispatcher. Each write is part of the commit of some
 * outcomes.
 */
import { sql } from 'kysely'
import { greatestOf } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import { type Webhook, type WebhookRef, webhookById } from './webhook-records.js'

const PAGE_SIZE = 100

/** All enabled webhooks of workspaces that exist, by id. */
const enabledAfter = prepareRead<{ id: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('webhooks')
    .innerJoin('workspaces', 'workspaces.id', 'webhooks.workspace_id')
    .selectAll('webhooks')
    .where('webhooks.id', '>', slot('id'))
    .where('webhooks.enabled', '=', 1)
    .orderBy('webhooks.id')
    .limit(slot('limit')),
)

/** Reads pages of all enabled webhooks. It reads a page when the caller asks for it. */
export async function* readEnabledWebhooks(read: Read): AsyncGenerator<readonly Webhook[], void> {
  for (let last = ''; ; ) {
    const page = await enabledAfter(read, { id: last, limit: PAGE_SIZE })
    yield page
    if (page.length < PAGE_SIZE) return
    last = page.at(-1)?.id ?? ''
  }
}

/** Undefined means that the webhook is gone or disabled. */
export async function findEnabledWebhook(read: Read, ref: WebhookRef): Promise<Webhook | undefined> {
  const found = await webhookById(read, ref)
  return found?.enabled === 1 ? found : undefined
}

type Progress = WebhookRef & { readonly cursor: number }

/** The cursor never moves back, because a webhook that was enabled again begins later. */
const setCursor = prepareWrite<Progress>(({ db, slot }) =>
  db
    .updateTable('webhooks')
    .set({ event_cursor: greatestOf(sql.ref('event_cursor'), slot('cursor')) })
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export function moveEventCursor(progress: Progress): Write {
  return setCursor(progress)
}

type LastAttempt = WebhookRef & Pick<Webhook, 'last_status' | 'last_at' | 'last_response_status' | 'failing_since'>

export const recordLastAttempt = prepareWrite<LastAttempt>(({ db, slot, slots }) =>
  db
    .updateTable('webhooks')
    .set(slots(['last_status', 'last_at', 'last_response_status', 'failing_since']))
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export type Replay = Tables['webhook_replays']

const replaysOf = prepareRead<WebhookRef>()(({ db, slot }) =>
  db
    .selectFrom('webhook_replays')
    .selectAll()
    .where('webhook_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('id')
    .limit(1),
)

/** The oldest request for a replay that is not complete. */
export async function findReplay(read: Read, ref: WebhookRef): Promise<Replay | undefined> {
  return (await replaysOf(read, ref))[0]
}

export const moveReplay = prepareWrite<{ id: string; workspaceId: string; next: number }>(({ db, slot }) =>
  db
    .updateTable('webhook_replays')
    .set({ next_seq: slot('next') })
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export const removeReplay = prepareWrite<{ id: string; workspaceId: string }>(({ db, slot }) =>
  db.deleteFrom('webhook_replays').where('id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)
