/**
 * Stores the records of broadcasts and the changes of their state. A *broadcast* is one message to all subscribed
 * contacts of an audience, with values of each; its *ceiling* is the newest contact that it goes to, fixed at its
 * start.
 *
 * Each change of state is one guarded write. It misses if the broadcast is not in the state from which the change
 * starts, or if it has changed since the given version was read. So only one of two concurrent changes takes place.
 */
import { sql } from 'kysely'
import { integerOf } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
import type { Tables } from '../../base/storage/tables/tables.js'

export type Broadcast = Tables['broadcasts']
/** A broadcast without its bodies, which may have a megabyte. */
export type BroadcastSummary = Omit<Broadcast, 'html' | 'text' | 'blocks'>

export interface BroadcastRef {
  readonly workspaceId: string
  readonly id: string
}

export const summaryColumns = [
  ...(['id', 'workspace_id', 'name', 'audience_id', 'sender', 'reply_to', 'subject', 'template_id'] as const),
  ...(['status', 'scheduled_for', 'started_at', 'finished_at', 'key_id', 'cursor', 'ceiling', 'expanded'] as const),
  ...(['waits_until', 'note', 'version', 'created_at', 'updated_at', 'not_opened_of'] as const),
] as const satisfies readonly (keyof BroadcastSummary)[]

const contentColumns = [
  ...(['name', 'audience_id', 'sender', 'reply_to', 'subject', 'html', 'text', 'blocks', 'template_id'] as const),
] as const

/** The columns that a change of a draft may set. */
export type DraftColumns = Pick<Broadcast, (typeof contentColumns)[number]>

export const broadcastById = prepareRead<BroadcastRef>()(({ db, slot }) =>
  db.selectFrom('broadcasts').selectAll().where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
)

export const broadcastSummaryById = prepareRead<BroadcastRef>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select(summaryColumns)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '=', slot('id')),
)

export const insertDraft = prepareWrite<DraftColumns & { id: string; workspaceId: string; now: Timestamp }>(
  ({ db, slot, slots }) =>
    db.insertInto('broadcasts').values({
      ...slots(contentColumns),
      id: slot('id'),
      workspace_id: slot('workspaceId'),
      status: sql.lit('draft'),
      cursor: sql.lit(''),
      ceiling: sql.lit(''),
      expanded: sql.lit(0),
      version: sql.lit(1),
      created_at: slot('now'),
      updated_at: slot('now'),
    }),
)

/** Restricts a new draft to those who got another broadcast and did not open it. */
export const restrictDraft = prepareWrite<BroadcastRef & { notOpenedOf: string }>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set({ not_opened_of: slot('notOpenedOf') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'draft'),
  1,
)

type Versioned = BroadcastRef & { readonly version: number }

/** Misses if the broadcast is not a draft, or has changed since `version` was read. */
export const changeDraft = prepareWrite<Versioned & DraftColumns & { now: Timestamp }>(
  ({ db, slot, slots }) =>
    db
      .updateTable('broadcasts')
      .set((eb) => ({ ...slots(contentColumns), version: eb('version', '+', 1), updated_at: slot('now') }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'draft')
      .where('version', '=', slot('version')),
  1,
)

/**
 * Misses if the broadcast has changed since `version` was read, or while messages of it may be in the queue: while it
 * is sending, paused, or still being cancelled.
 */
export const removeBroadcast = prepareWrite<Versioned>(
  ({ db, slot }) =>
    db
      .deleteFrom('broadcasts')
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('version', '=', slot('version'))
      .where((eb) => eb.or([eb('status', 'in', ['draft', 'scheduled']), eb('finished_at', 'is not', null)])),
  1,
)

/** The newest contact; later ones get no message. This takes constant time, because it is the end of an index. */
const newestContact = sql<string>`coalesce((select max(c.id) from contacts as c
  where c.workspace_id = broadcasts.workspace_id and c.audience_id = broadcasts.audience_id), '')`

type Dispatch = Versioned & { readonly keyId: string | null; readonly now: Timestamp }

/** Changes `draft` to `scheduled`. Misses if the broadcast has changed since `version` was read. */
export const scheduleDraft = prepareWrite<Dispatch & { at: Timestamp }>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set((eb) => ({
        status: 'scheduled',
        scheduled_for: slot('at'),
        key_id: slot('keyId'),
        version: eb('version', '+', 1),
        updated_at: slot('now'),
      }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'draft')
      .where('version', '=', slot('version')),
  1,
)

/** Changes `draft` to `sending`, with the present audience. Misses if it has changed since `version` was read. */
export const markSending = prepareWrite<Dispatch>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set((eb) => ({
        status: 'sending',
        started_at: slot('now'),
        ceiling: newestContact,
        key_id: slot('keyId'),
        version: eb('version', '+', 1),
        updated_at: slot('now'),
      }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'draft')
      .where('version', '=', slot('version')),
  1,
)

type Change = BroadcastRef & { readonly now: Timestamp }

/** Changes `scheduled` to `sending`, with the audience as it is now. Misses before the scheduled time. */
export const startScheduled = prepareWrite<Change>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set((eb) => ({
        status: 'sending',
        started_at: slot('now'),
        ceiling: newestContact,
        version: eb('version', '+', 1),
        updated_at: slot('now'),
      }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'scheduled')
      .where('scheduled_for', '<=', slot('now')),
  1,
)

/** Changes `sending` to `paused`. `note` says why the service does it; null means that a client does. */
export const pauseBroadcast = prepareWrite<Change & { note: string | null }>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set((eb) => ({
        status: 'paused',
        waits_until: null,
        note: slot('note'),
        version: eb('version', '+', 1),
        updated_at: slot('now'),
      }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'sending'),
  1,
)

/** Changes `paused` to `sending`. The cursor stays where it was. */
export const resumeBroadcast = prepareWrite<Change>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set((eb) => ({
        status: 'sending',
        waits_until: null,
        note: null,
        version: eb('version', '+', 1),
        updated_at: slot('now'),
      }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'paused'),
  1,
)

/** Changes `scheduled`, `sending` or `paused` to `cancelled`. A broadcast that has not started is then finished. */
export const cancelBroadcast = prepareWrite<Change>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set((eb) => ({
        status: 'cancelled',
        finished_at: sql<number | null>`case when status = 'scheduled' then ${integerOf(slot('now'))} end`,
        waits_until: null,
        note: null,
        version: eb('version', '+', 1),
        updated_at: slot('now'),
      }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', 'in', ['scheduled', 'sending', 'paused']),
  1,
)

const hasNoEntries = sql<boolean>`not exists (select 1 from queue where queue.broadcast_id = broadcasts.id)`

/** Changes `sending` to `sent`. Misses while there are contacts left to look at, or entries in the queue. */
export const finishBroadcast = prepareWrite<Change>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set((eb) => ({
        status: 'sent',
        finished_at: slot('now'),
        waits_until: null,
        note: null,
        version: eb('version', '+', 1),
        updated_at: slot('now'),
      }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'sending')
      .where('expanded', '=', 1)
      .where(hasNoEntries),
  1,
)

/** Finishes a cancelled broadcast. Misses while an entry of it is in the queue. */
export const finishCancelled = prepareWrite<Change>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set((eb) => ({ finished_at: slot('now'), version: eb('version', '+', 1), updated_at: slot('now') }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'cancelled')
      .where('finished_at', 'is', null)
      .where(hasNoEntries),
  1,
)

interface CursorMove extends BroadcastRef {
  /** The cursor that was read. */
  readonly from: string
  /** The last contact that the step has looked at. It equals `from` if only the wait changes. */
  readonly to: string
  readonly expanded: 0 | 1
  /** Null, like `note`, if no limit is exhausted. */
  readonly waitsUntil: Timestamp | null
  readonly note: string | null
}

/**
 * Put this write into the commit that makes the messages of the contacts up to `to`. It misses if the broadcast is no
 * longer sending, or if another commit has moved the cursor. It does not raise the version, because no client changes
 * these columns.
 */
export const advanceCursor = prepareWrite<CursorMove>(
  ({ db, slot }) =>
    db
      .updateTable('broadcasts')
      .set({ cursor: slot('to'), expanded: slot('expanded'), waits_until: slot('waitsUntil'), note: slot('note') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'sending')
      .where('cursor', '=', slot('from')),
  1,
)
