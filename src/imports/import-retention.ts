/** Forgetting imports that are long over, in small steps. */
import { prepareRead, prepareWrite, type Read } from '../storage/prepared.js'
import type { Commit } from '../storage/writer/write.js'
import { KEPT_FOR } from './import-records.js'

const STEP = 200

const finishedBefore = prepareRead<{ before: number }>()(({ db, slot }) =>
  db.selectFrom('imports').select('id').where('finished_at', '<', slot('before')).orderBy('finished_at').limit(STEP),
)

const remove = prepareWrite<{ id: string }>(({ db, slot }) => db.deleteFrom('imports').where('id', '=', slot('id')))

/** Resolves to whether there may be more. */
export async function forgetImports(
  { read, commit }: { readonly read: Read; readonly commit: Commit },
  now: number,
): Promise<boolean> {
  const old = finishedBefore(read, { before: now - KEPT_FOR })
  if (old.length > 0) await commit(old.map(remove))
  return old.length === STEP
}
