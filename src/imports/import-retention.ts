/** Forgetting imports that are long over, in small steps. */

import type { Store } from '../storage/database.js'
import { prepareRead, prepareWrite } from '../storage/prepared.js'
import { IMPORT_LIFETIME } from './import-records.js'

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

/** Resolves to whether there may be more. */
export async function removeExpiredImports({ read, commit }: Store, now: number): Promise<boolean> {
  const old = selectFinishedBefore(read, { before: now - IMPORT_LIFETIME })
  if (old.length > 0) await commit(old.map(removeImport))
  return old.length === BATCH_SIZE
}
