/** Reads from the audit log when an address was last taken off the suppression list. */
import { sql } from 'kysely'
import { jsonText } from '../../base/storage/db/dialect.js'
import { prepareRead } from '../../base/storage/db/prepared.js'

/** `email` is in lower case, as the log has it. The condition on the act must be the same as in the index. */
export const lastRemovalOf = prepareRead<{ workspaceId: string; email: string }>()(({ db, slot }) =>
  db
    .selectFrom('audit_log')
    .select(['at', jsonText('details', 'reason').as('reason')])
    .where('workspace_id', '=', slot('workspaceId'))
    .where(jsonText('details', 'email'), '=', slot('email'))
    .where('action', '=', sql.lit('suppression.deleted'))
    .orderBy('seq', 'desc')
    .limit(1),
)
