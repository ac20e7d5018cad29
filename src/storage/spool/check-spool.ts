/** Whether the spool files hold what the rows of a database name. */
import { statSync } from 'node:fs'
import type SQLite from 'better-sqlite3'
import { type SpoolPlace, spooledTables, spoolFile } from './spool-files.js'

type Named = SpoolPlace & { readonly id: string }

interface SpoolProblem {
  readonly check: 'spool-file' | 'spool-overlap'
  readonly message: string
}

const MAX_EXAMPLES = 3

/** The files must be held (`holdSpool`) from before the snapshot that `db` reads. */
export function findSpoolProblems(db: SQLite.Database, folder: string): SpoolProblem[] {
  const lacking: string[] = []
  const overlapping: string[] = []
  let before: SpoolPlace = { file: -1, at: 0, bytes: 0 }
  let size = 0
  for (const named of db.prepare<[], Named>(NAMED_PLACES).iterate()) {
    const { file, at, bytes, id } = named
    if (file !== before.file) size = statSync(spoolFile(folder, file), { throwIfNoEntry: false })?.size ?? 0
    else if (at < before.at + before.bytes) overlapping.push(id)
    // What is deleted may be gone already.
    if (at + bytes > size && id !== HOLE) lacking.push(id)
    before = named
  }
  return [
    ...describe('spool-file', 'rows whose bytes are not in their spool file', lacking),
    ...describe('spool-overlap', 'rows or deleted ranges that name the same bytes of a spool file', overlapping),
  ]
}

/** Stands for an id. */
const HOLE = 'deleted'

const NAMED_PLACES = `${spooledTables
  .map(
    (table) => `select spool_file as file, spool_at as at, spool_bytes as bytes,
      ${table === 'raw_messages' ? 'email_id' : 'inbound_id'} as id from ${table} where spool_file is not null`,
  )
  .join(' union all ')} union all select file, at, bytes, '${HOLE}' from spool_holes order by 1, 2`

function describe(check: SpoolProblem['check'], what: string, ids: readonly string[]): SpoolProblem[] {
  if (ids.length === 0) return []
  const examples = ids.slice(0, MAX_EXAMPLES).join(', ')
  return [{ check, message: `${ids.length} ${what}: ${examples}${ids.length > MAX_EXAMPLES ? ', …' : ''}` }]
}
