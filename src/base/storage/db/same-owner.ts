/** Finds which workspaces have one owner, for statements that count what an owner has in all of them. */
import { type RawBuilder, sql } from 'kysely'

/**
 * A subselect of the ids of all workspaces that have the owner of this one, itself among them; it need not exist.
 * `workspaceId` is a value, or the slot of a prepared statement.
 */
export function selectSameOwner(workspaceId: string): RawBuilder<string> {
  return sql<string>`(select ${workspaceId} union all select theirs.workspace_id from members as own
    join members as theirs on theirs.user_id = own.user_id and theirs.role = 'owner'
    where own.workspace_id = ${workspaceId} and own.role = 'owner')`
}
