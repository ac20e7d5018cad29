/**
 * What is used counts by owner, in rows with the id of the user; and hold rules of the circuit breaker hold the mail of
 * all workspaces of an owner. Codes that the provider accepted limit nothing and stay with their workspace.
 */
import { runStatements } from '../migrate.js'

const limited = `kind not in ('sms-sent', 'sms-segments')`

/** The sums of each owner, and then without the rows of their workspaces. */
export const usageByOwner = [
  `insert into usage (workspace_id, kind, bucket, count)
    select members.user_id, kind, bucket, sum(count) from usage
      join members on members.workspace_id = usage.workspace_id and members.role = 'owner'
      where ${limited} group by members.user_id, kind, bucket`,
  `delete from usage where ${limited} and workspace_id in (select workspace_id from members where role = 'owner')`,
] as const

export const up = runStatements([...usageByOwner, 'alter table hold_rules add column owner text'])
