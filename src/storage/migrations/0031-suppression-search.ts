/** The addresses of a suppression list with one reason, in the order of the addresses, for its search. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'create index suppressions_by_reason_and_email on suppressions (workspace_id, reason, email)',
])
