/**
 * The records of exports.
 *
 *   processing -> completed | failed
 *
 * A record is removed before its file: after `retention.exports`, by its workspace, or with the workspace. Every change
 * of an export that is being written asserts its record, so that nothing is written for one that is gone, and no run
 * writes into what another one has stored.
 */
import { type Selectable, sql } from 'kysely'
import { textOf } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, type StatementBuilder } from '../../base/storage/db/prepared.js'
import { selectSameOwner } from '../../base/storage/db/same-owner.js'
import type { ExportsTable } from '../../base/storage/tables/export-tables.js'

export type ExportRow = Selectable<ExportsTable>

/** The most exports of all workspaces of an owner that are running or waiting. */
export const MAX_UNFINISHED_EXPORTS = 20
/** The most exports of a workspace that are kept, including the unfinished ones. */
export const MAX_KEPT_EXPORTS = 100

type NewExport = Pick<ExportRow, 'id' | 'workspace_id' | 'type' | 'from_at' | 'to_at' | 'domain' | 'created_at'> &
  Pick<ExportRow, 'broadcast_id' | 'outcome'>

/** Counts the exports of all workspaces of the owner. */
function countUnfinished(db: StatementBuilder<object>['db'], workspaceId: string) {
  return db
    .selectFrom('exports')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('workspace_id', 'in', selectSameOwner(workspaceId))
    .where('status', '=', 'processing')
}

export const unfinishedOfOwner = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  countUnfinished(db, slot('workspaceId')),
)

/** Misses if the workspace is deleted, or has as many exports as it may have. */
export const insertExport = prepareWrite<NewExport>(({ db, slot }) => {
  const ofWorkspace = db
    .selectFrom('exports')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('workspace_id', '=', slot('workspace_id'))
  const unfinished = countUnfinished(db, slot('workspace_id'))
  const living = db.selectFrom('workspaces').select('id').where('id', '=', slot('workspace_id'))
  const row = db
    .selectNoFrom((eb) => [
      eb.val(slot('id')).as('id'),
      eb.val(slot('workspace_id')).as('workspace_id'),
      eb.val(slot('type')).as('type'),
      sql.lit('processing' as const).as('status'),
      sql<number>`cast(${slot('from_at')} as bigint)`.as('from_at'),
      sql<number>`cast(${slot('to_at')} as bigint)`.as('to_at'),
      eb.val(slot('domain')).as('domain'),
      sql.lit(0).as('rows'),
      sql.lit(0).as('bytes'),
      sql.lit(0).as('progress'),
      sql<number>`cast(${slot('created_at')} as bigint)`.as('created_at'),
      textOf(slot('broadcast_id')).as('broadcast_id'),
      textOf(slot('outcome')).as('outcome'),
    ])
    .where(
      sql<boolean>`exists ${living} and ${ofWorkspace} < ${sql.lit(MAX_KEPT_EXPORTS)}
        and ${unfinished} < ${sql.lit(MAX_UNFINISHED_EXPORTS)}`,
    )
  const columns = ['id', 'workspace_id', 'type', 'status', 'from_at', 'to_at', 'domain', 'rows', 'bytes'] as const
  return db
    .insertInto('exports')
    .columns([...columns, 'progress', 'created_at', 'broadcast_id', 'outcome'])
    .expression(row)
}, 1)

export interface ExportRef {
  readonly id: string
  readonly workspaceId: string
}

export const exportById = prepareRead<ExportRef>()(({ db, slot }) =>
  db.selectFrom('exports').selectAll().where('id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)

/** Lists the newest first. */
export const listExports = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('exports')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('id', 'desc')
    .limit(MAX_KEPT_EXPORTS),
)

/** Reads an export of any workspace, to find the owner of a file. */
export const anyExportById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('exports').select('status').where('id', '=', slot('id')),
)

/**
 * Lists the unfinished exports of all workspaces in the order of their requests. The status is a literal, so that
 * SQLite uses the partial index.
 */
export const listUnfinishedExports = prepareRead<{ after: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('exports')
    .select(['id', 'workspace_id as workspaceId'])
    .where('status', '=', sql.lit('processing' as const))
    .where('id', '>', slot('after'))
    .orderBy('id')
    .limit(slot('limit')),
)

type Progress = Pick<ExportRow, 'cursor' | 'rows' | 'bytes' | 'progress'>

/** What a run knows of the file: the bytes of the record, and where the last piece begins, or -1 if there is none. */
interface KnownFile {
  readonly from: number
  readonly last: number
}

const beginOfLastPiece = ({ db, slot }: Pick<StatementBuilder<ExportRef>, 'db' | 'slot'>) =>
  db
    .selectFrom('export_chunks')
    .select(({ fn }) => fn.coalesce(fn.max('start_at'), sql.lit(-1)).as('start'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('export_id', '=', slot('id'))

/** Misses if the export is gone, or has come further. */
export const requireBytes = prepareWrite<ExportRef & Pick<KnownFile, 'from'>>(
  ({ db, slot }) =>
    db
      .updateTable('exports')
      .set(({ ref }) => ({ bytes: ref('bytes') }))
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'processing')
      .where('bytes', '=', slot('from')),
  1,
)

/** Misses if the export is gone, or if the file is another than the run knows. */
export const advanceExport = prepareWrite<ExportRef & KnownFile & Progress>(
  ({ db, slot, slots }) =>
    db
      .updateTable('exports')
      .set(slots(['cursor', 'rows', 'bytes', 'progress']))
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'processing')
      .where('bytes', '=', slot('from'))
      .where(beginOfLastPiece({ db, slot }), '=', slot('last')),
  1,
)

/** Misses if the export is gone, or if the file is another than the run knows. */
export const completeExport = prepareWrite<ExportRef & KnownFile & Pick<Progress, 'rows' | 'bytes'> & { at: number }>(
  ({ db, slot, slots }) =>
    db
      .updateTable('exports')
      .set({ ...slots(['rows', 'bytes']), status: 'completed', progress: 1_000, cursor: null, finished_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'processing')
      .where('bytes', '=', slot('from'))
      .where(beginOfLastPiece({ db, slot }), '=', slot('last')),
  1,
)

/** Misses if the export is gone. */
export const failExport = prepareWrite<ExportRef & { error: ExportRow['error']; at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('exports')
      .set({ status: 'failed', error: slot('error'), cursor: null, finished_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'processing'),
  1,
)

/** Removes an export, except one that is being written. */
export const removeFinishedExport = prepareWrite<ExportRef>(({ db, slot }) =>
  db
    .deleteFrom('exports')
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('status', '<>', 'processing'),
)

export const listFinishedBefore = prepareRead<{ before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('exports')
    .select(['id', 'workspace_id as workspaceId'])
    .where('finished_at', '<', slot('before'))
    .orderBy('finished_at')
    .limit(slot('limit')),
)
