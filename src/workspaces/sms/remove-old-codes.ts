/** Removes old codes: their records, with the parts of their messages. Events have a separate retention. */

import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'

const BATCH_SIZE = 500

/** Finds the codes of all workspaces. */
const oldCodes = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('sms_codes')
    .select('created_at')
    .where('created_at', '<', slot('before'))
    .orderBy('created_at')
    .limit(BATCH_SIZE),
)

const removePartsUpTo = prepareWrite<{ at: number }>(({ db, slot }) =>
  db
    .deleteFrom('sms_parts')
    .where('sms_id', 'in', db.selectFrom('sms_codes').select('id').where('created_at', '<=', slot('at'))),
)

const removeCodesUpTo = prepareWrite<{ at: number }>(({ db, slot }) =>
  db.deleteFrom('sms_codes').where('created_at', '<=', slot('at')),
)

/** Removes some codes that were created before `before`, oldest first. Resolves to whether there may be more. */
export async function removeOldCodes({ read, commit }: Store, before: number): Promise<boolean> {
  const old = oldCodes(read, { before })
  const at = old.at(-1)?.created_at
  if (at !== undefined) await commit([removePartsUpTo({ at }), removeCodesUpTo({ at })])
  return old.length === BATCH_SIZE
}
