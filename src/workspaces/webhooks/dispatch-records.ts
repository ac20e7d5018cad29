/**
 * Reads and writes the rows of webhooks and replays for the dispatcher. Each write is part of the commit of some
 * outcomes.
 */
import { sql } from 'kysely'
import { greatestOf, integerOf } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
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

/** The cursor of a webhook in each slot. */
export type Cursors = ReadonlyMap<number, number>

const cursorsOf = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('webhook_cursors').select(['slot', 'seq']).where('webhook_id', '=', slot('id')),
)

/** The cursor in each of these slots is at least `event_cursor`, because a webhook that was enabled again begins there. */
export async function readCursors(
  read: Read,
  { id, event_cursor: begin }: Pick<Webhook, 'id' | 'event_cursor'>,
  slots: readonly number[],
): Promise<Cursors> {
  const stored = new Map((await cursorsOf(read, { id })).map(({ slot, seq }) => [slot, seq]))
  return new Map(slots.map((slot) => [slot, Math.max(begin, stored.get(slot) ?? 0)]))
}

/** The cursor never moves back: another node may have come further. A webhook that is gone gets none. */
export const moveEventCursor = prepareWrite<WebhookRef & { readonly inSlot: number; readonly cursor: number }>(
  ({ db, slot }) =>
    db
      .insertInto('webhook_cursors')
      .columns(['webhook_id', 'workspace_id', 'slot', 'seq'])
      .expression(
        db
          .selectFrom('webhooks')
          .select((eb) => ['id', 'workspace_id', eb.val(slot('inSlot')).as('slot'), eb.val(slot('cursor')).as('seq')])
          .where('id', '=', slot('id'))
          .where('workspace_id', '=', slot('workspaceId')),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['webhook_id', 'slot'])
          .doUpdateSet({ seq: greatestOf(sql.ref('webhook_cursors.seq'), sql.ref('excluded.seq')) }),
      ),
)

type LastAttempt = WebhookRef & Pick<Tables['webhook_cursors'], 'last_status' | 'last_at' | 'last_response_status'>

const attemptColumns = ['last_status', 'last_at', 'last_response_status'] as const

/** Each writer has a row of its own, in its slot, so that none waits for another one. */
export const recordLastAttempt = prepareWrite<LastAttempt>(({ db, slot, slots }) =>
  db
    .insertInto('webhook_cursors')
    .columns(['webhook_id', 'workspace_id', 'seq', ...attemptColumns])
    .expression(
      db
        .selectFrom('webhooks')
        .select((eb) => [
          ...(['id', 'workspace_id'] as const),
          eb.lit(0).as('seq'),
          ...attemptColumns.map((name) => eb.val(slot(name)).as(name)),
        ])
        .where('id', '=', slot('id'))
        .where('workspace_id', '=', slot('workspaceId')),
    )
    .onConflict((conflict) => conflict.columns(['webhook_id', 'slot']).doUpdateSet(slots(attemptColumns))),
)

/** `known`: what this node has read. */
type Failing = WebhookRef & Pick<Webhook, 'failing_since'> & { readonly known: Timestamp | null }

/** All nodes share it. A time that another node has noted stays, until one of them has success. */
export const recordFailing = prepareWrite<Failing>(({ db, slot, slots }) =>
  db
    .updateTable('webhooks')
    .set(slots(['failing_since']))
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where(
      sql<boolean>`(${integerOf(slot('failing_since'))} is null or failing_since is null
        or failing_since = ${slot('known')})`,
    ),
)

/** A node, and a webhook of which it works on some rows. */
export type NodeWork = WebhookRef & { readonly node: string }

const replaysOf = prepareRead<NodeWork>()(({ db, slot }) =>
  db
    .selectFrom('webhook_replays')
    .selectAll()
    .where('webhook_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('node', '=', slot('node'))
    .orderBy('id')
    .limit(1),
)

export type Replay = Awaited<ReturnType<typeof replaysOf>>[number]

/** The oldest request for a replay of this node that is not complete. */
export async function findReplay(read: Read, work: NodeWork): Promise<Replay | undefined> {
  return (await replaysOf(read, work))[0]
}

/** It never moves back: another node may have come further. */
export const moveReplay = prepareWrite<{ id: string; workspaceId: string; next: number }>(({ db, slot }) =>
  db
    .updateTable('webhook_replays')
    .set({ next_seq: greatestOf(sql.ref('next_seq'), slot('next')) })
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export const removeReplay = prepareWrite<{ id: string; workspaceId: string }>(({ db, slot }) =>
  db.deleteFrom('webhook_replays').where('id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)
