/** Workspaces, their people and keys, what they use, and sessions in browsers. */

/** Cancels the pending invitations of a member who may no longer invite. */
const cancelTheirs = `update invitations set status = 'cancelled'
  where workspace_id = old.workspace_id and invited_by = old.user_id and status = 'pending';`

const workspaces = [
  // The tenants: nearly every other table has the id of one.
  `create table workspaces (
    id text primary key, name text not null, slug text not null unique, icon_url text, plan text not null,
    created_at integer not null, language text not null default 'en', postal_address text) strict`,
  // Lists all workspaces in the order in which they were made.
  'create index workspaces_age on workspaces (created_at, id)',

  // Workspaces that are being erased, and since when.
  'create table erasures (id text primary key, asked_at integer not null) strict, without rowid',

  // Keys of the API and of SMTP submission, as hashes, with what each of them may do.
  `create table api_keys (
    id text primary key, workspace_id text not null, user_id text not null, name text not null,
    key_hash text not null unique, key_prefix text not null, scopes text not null, allowed_networks text not null,
    allowed_domains text not null, created_at integer not null, expires_at integer, last_used_at integer,
    revoked_at integer, sender text) strict`,
  // Lists the keys of a workspace in the order in which they were made.
  'create index api_keys_of_workspace on api_keys (workspace_id, created_at, id)',

  // What was used of limits in an hour, a day or a month; what an owner used has the user's id in place of a workspace's.
  `create table usage (
    workspace_id text not null, kind text not null, bucket integer not null, count integer not null,
    slot integer not null default 0, primary key (workspace_id, kind, bucket, slot)) strict, without rowid`,

  // Says who changed what in a workspace, in the order of the changes.
  `create table audit_log (
    seq integer primary key autoincrement, id text not null, workspace_id text not null, at integer not null,
    actor text not null, action text not null, target text not null, details text not null) strict`,
  // Lists the changes of one workspace.
  'create index audit_log_of_workspace on audit_log (workspace_id, seq)',
  // Finds when an address was taken off the suppression list.
  `create index audit_log_of_suppressions on audit_log (workspace_id, json_extract(details, '$.email'), seq)
    where action = 'suppression.deleted'`,
] as const

const people = [
  // Persons, who may be members of many workspaces, with their password and second factor.
  `create table users (
    id text primary key, email text not null unique, full_name text not null, avatar_url text, password_hash text,
    created_at integer not null,
    totp_secret text, totp_enabled_at integer, totp_last_step integer not null default 0) strict`,

  // Says which user has which role in which workspace.
  `create table members (
    id text primary key, workspace_id text not null, user_id text not null,
    role text not null check (role in ('owner', 'admin', 'member')), joined_at integer not null,
    unique (workspace_id, user_id)) strict`,
  // Allows one owner in a workspace, and finds that owner.
  `create unique index members_one_owner on members (workspace_id) where role = 'owner'`,
  // Finds the workspaces of a user.
  'create index members_of_user on members (user_id)',
  // Lists the members of a workspace in the order in which they joined.
  'create index members_of_workspace on members (workspace_id, joined_at, id)',

  // Invitations to become a member, by address, with the user who invited.
  `create table invitations (
    id text primary key, workspace_id text not null, email text not null,
    role text not null check (role in ('admin', 'member')),
    status text not null check (status in ('pending', 'accepted', 'cancelled', 'expired')),
    invited_by_name text not null, invited_by_email text not null, created_at integer not null,
    expires_at integer not null, invited_by text not null default '') strict, without rowid`,
  // Allows one pending invitation of an address to a workspace.
  `create unique index invitations_pending on invitations (workspace_id, email) where status = 'pending'`,
  // Lists the invitations of a workspace in one state.
  'create index invitations_of_workspace on invitations (workspace_id, status, expires_at, id)',
  // Finds the invitations that have expired.
  'create index invitations_age on invitations (expires_at)',
  // Finds the invitations that a member has made, for the triggers that cancel them.
  `create index invitations_of_inviter on invitations (workspace_id, invited_by) where status = 'pending'`,
  // Cancels the invitations of a member who leaves, whichever statement removes the member.
  `create trigger inviters_go after delete on members begin ${cancelTheirs} end`,
  // Cancels the invitations of a member who loses the right to invite.
  `create trigger inviters_step_down after update of role on members
    when old.role <> 'member' and new.role = 'member' begin ${cancelTheirs} end`,
] as const

const sessions = [
  // Sessions of people in a browser, by the hash of the token in the cookie.
  `create table sessions (
    id text primary key, user_id text not null, token_hash text not null, created_at integer not null,
    last_used_at integer not null, expires_at integer not null, user_agent text not null,
    ip_address text not null) strict, without rowid`,
  // Finds the session of a cookie.
  'create unique index sessions_by_token on sessions (token_hash)',
  // Lists the sessions of a user.
  'create index sessions_of_user on sessions (user_id, created_at, id)',
  // Finds the sessions that have expired.
  'create index sessions_by_age on sessions (expires_at)',

  // Links that set or reset a password, by the hash of their token.
  `create table password_links (
    token_hash text primary key, user_id text not null, purpose text not null check (purpose in ('set', 'reset')),
    created_at integer not null, expires_at integer not null, used_at integer) strict, without rowid`,
  // Finds the links of a user, to make them void.
  'create index password_links_of_user on password_links (user_id)',
  // Finds the links that have expired.
  'create index password_links_by_age on password_links (expires_at)',

  // Codes that stand in for the second factor, as hashes; each works once.
  `create table recovery_codes (
    user_id text not null, code_hash text not null, used_at integer,
    primary key (user_id, code_hash)) strict, without rowid`,
  // Removes what lets a user sign in together with the user.
  `create trigger users_go after delete on users begin
    delete from sessions where user_id = old.id;
    delete from password_links where user_id = old.id;
    delete from recovery_codes where user_id = old.id;
  end`,

  // Browsers in which users have signed in: a sign-in from another one is reported to the user.
  `create table known_browsers (
    user_id text not null, token_hash text not null, last_used_at integer not null,
    primary key (user_id, token_hash)) strict, without rowid`,
  // Finds the browsers that were not used for long.
  'create index known_browsers_by_age on known_browsers (last_used_at)',
  // Removes the known browsers of a user together with the user.
  `create trigger users_forget_browsers after delete on users begin
    delete from known_browsers where user_id = old.id;
  end`,
] as const

export const accounts = [...workspaces, ...people, ...sessions] as const
