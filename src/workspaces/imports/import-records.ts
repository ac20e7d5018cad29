/**
 * The records of imports that go on after their request.
 *
 *   processing -> completed | failed
 *
 * Each commit of an import's rows asserts its record (`advanceImport`), so that a row is imported once,
 * also when two nodes run the import, and none after the workspace was closed, which removes the record.
 */
import { type Selectable, sql } from 'kysely'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type StatementBuilder } from '../../base/storage/db/prepared.js'
import { selectSameOwner } from '../../base/storage/db/same-owner.js'
import type { Tables } from '../../base/storage/tables/tables.js'

export type ImportRow = Selectable<Tables['imports']>

/** Imports of all workspaces of an owner that run or wait. */
export const MAX_PENDING_IMPORTS = 5
/** A finished import stays for 30 days. */
export const IMPORT_LIFETIME = 30 * 24 * 3_600_000

type NewImport = Pick<ImportRow, 'id' | 'workspace_id' | 'kind' | 'options' | 'total' | 'created_at'>

/** Counts the pending imports of all workspaces of the owner. */
function countPending(db: StatementBuilder<object>['db'], workspaceId: string) {
  return db
    .selectFrom('imports')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('workspace_id', 'in', selectSameOwner(workspaceId))
    .where('status', '=', 'processing')
}

/** Misses when the workspace is deleted, or its owner has too many pending imports. */
export const insertImport = prepareWrite<NewImport & { maxPending: number }>(({ db, slot }) => {
  const living = db.selectFrom('workspaces').select('id').where('id', '=', slot('workspace_id'))
  const pending = countPending(db, slot('workspace_id'))
  return db
    .insertInto('imports')
    .columns(['id', 'workspace_id', 'kind', 'status', 'options', 'total', 'done', 'created_at'])
    .expression(
      db
        .selectNoFrom([
          sql<string>`${slot('id')}`.as('id'),
          sql<string>`${slot('workspace_id')}`.as('workspace_id'),
          sql<ImportRow['kind']>`${slot('kind')}`.as('kind'),
          sql.lit('processing' as const).as('status'),
          sql<ImportRow['options']>`${slot('options')}`.as('options'),
          sql<number>`cast(${slot('total')} as bigint)`.as('total'),
          sql.lit(0).as('done'),
          sql<number>`cast(${slot('created_at')} as bigint)`.as('created_at'),
        ])
        .where(sql<boolean>`exists ${living} and ${pending} < ${slot('maxPending')}`),
    )
}, 1)

type ImportRef = { id: string; workspaceId: string }

/** Misses when the import has ended, or when it is not at the row `from`. */
export const advanceImport = prepareWrite<ImportRef & { from: number; done: number; report: ImportRow['report'] }>(
  ({ db, slot }) =>
    db
      .updateTable('imports')
      .set({ done: slot('done'), report: slot('report') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'processing')
      .where('done', '=', slot('from')),
  1,
)

/** Misses when the import has ended. */
export const completeImport = prepareWrite<ImportRef & { at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('imports')
      .set({ status: 'completed', finished_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'processing'),
  1,
)

/** Misses when the import has ended. Rows that were imported before stay. */
export const failImport = prepareWrite<ImportRef & { at: number; error: ImportRow['error'] }>(
  ({ db, slot }) =>
    db
      .updateTable('imports')
      .set({ status: 'failed', error: slot('error'), finished_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'processing'),
  1,
)

export const importById = prepareRead<ImportRef>()(({ db, slot }) =>
  db.selectFrom('imports').selectAll().where('id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)

/** The number of pending imports of all workspaces of the owner. */
export const countPendingImports = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  countPending(db, slot('workspaceId')),
)

/**
 * Pending imports of all workspaces, in the order of their requests. SQLite uses the partial index only for a
 * literal.
 */
export const listPendingImports = prepareRead<{ after: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('imports')
    .select(['id', 'workspace_id as workspaceId'])
    .where('status', '=', sql.lit('processing' as const))
    .where('id', '>', slot('after'))
    .orderBy('id')
    .limit(slot('limit')),
)

const BATCH_SIZE = 200

const selectFinishedBefore = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('imports')
    .select('id')
    .where('finished_at', '<', slot('before'))
    .orderBy('finished_at')
    .limit(BATCH_SIZE),
)

const removeImport = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('imports').where('id', '=', slot('id')),
)

/** Removes some imports that ended more than 30 days ago. Resolves to whether there may be more. */
export async function removeExpiredImports({ read, commit }: Store, now: number): Promise<boolean> {
  const old = await selectFinishedBefore(read, { before: now - IMPORT_LIFETIME })
  if (old.length > 0) await commit(old.map(removeImport))
  return old.length === BATCH_SIZE
}
