/**
 * Invitations know their inviter, and triggers cancel them when that user may no longer invite, whichever
 * statement takes the right away. The operator's workspace is stored; in an existing database it is the oldest
 * one, which received system mail before.
 */
import { runStatements } from '../migrate.js'

const cancelTheirs = `update invitations set status = 'cancelled'
  where workspace_id = old.workspace_id and invited_by = old.user_id and status = 'pending';`

export const up = runStatements([
  `alter table invitations add column invited_by text not null default ''`,
  `update invitations set invited_by = coalesce((select id from users where users.email = invited_by_email), '')`,
  `update invitations set status = 'cancelled' where status = 'pending' and not exists (
    select 1 from members where members.workspace_id = invitations.workspace_id
      and members.user_id = invitations.invited_by and members.role in ('owner', 'admin'))`,
  `create index invitations_of_inviter on invitations (workspace_id, invited_by) where status = 'pending'`,
  `create trigger inviters_go after delete on members begin ${cancelTheirs} end`,
  `create trigger inviters_step_down after update of role on members
    when old.role <> 'member' and new.role = 'member' begin ${cancelTheirs} end`,
  `insert into service_state (key, value)
    select 'operator_workspace', id from workspaces order by created_at, id limit 1`,
])
