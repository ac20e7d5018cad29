/**
 * Invitations, workspaces that are being erased, indexes of members, and an index of the few events from which
 * the service's own mail is written.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'create index members_of_user on members (user_id)',
  'create index members_of_workspace on members (workspace_id, joined_at, id)',
  `create table invitations (
    id text primary key, workspace_id text not null, email text not null,
    role text not null check (role in ('admin', 'member')),
    status text not null check (status in ('pending', 'accepted', 'cancelled', 'expired')),
    invited_by_name text not null, invited_by_email text not null, created_at integer not null,
    expires_at integer not null) strict, without rowid`,
  `create unique index invitations_pending on invitations (workspace_id, email) where status = 'pending'`,
  'create index invitations_of_workspace on invitations (workspace_id, status, expires_at, id)',
  'create index invitations_age on invitations (expires_at)',
  'create table erasures (id text primary key, asked_at integer not null) strict, without rowid',
  `create index events_told on events (seq)
    where type in ('invitation.created', 'domain.broken', 'domain.failed')`,
])
