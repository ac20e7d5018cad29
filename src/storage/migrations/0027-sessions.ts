/** Sessions of people in a browser, links that set a password, and second factors with their recovery codes. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table sessions (
    id text primary key, user_id text not null, token_hash text not null, created_at integer not null,
    last_used_at integer not null, expires_at integer not null, user_agent text not null,
    ip_address text not null) strict, without rowid`,
  'create unique index sessions_by_token on sessions (token_hash)',
  'create index sessions_of_user on sessions (user_id, created_at, id)',
  'create index sessions_by_age on sessions (expires_at)',
  `create table password_links (
    token_hash text primary key, user_id text not null, purpose text not null check (purpose in ('set', 'reset')),
    created_at integer not null, expires_at integer not null, used_at integer) strict, without rowid`,
  'create index password_links_of_user on password_links (user_id)',
  'create index password_links_by_age on password_links (expires_at)',
  `create table recovery_codes (
    user_id text not null, code_hash text not null, used_at integer,
    primary key (user_id, code_hash)) strict, without rowid`,
  'alter table users add column totp_secret text',
  'alter table users add column totp_enabled_at integer',
  'alter table users add column totp_last_step integer not null default 0',
  `create trigger users_go after delete on users begin
    delete from sessions where user_id = old.id;
    delete from password_links where user_id = old.id;
    delete from recovery_codes where user_id = old.id;
  end`,
])
