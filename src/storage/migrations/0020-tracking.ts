/**
 * Tracked links, what restores the HTML as it was submitted, copies of a message for single recipients, and what an
 * unsubscribe link needs of its recipient for as long as links are kept: longer than the recipient's own row.
 *
 * The ids of links and of recipients begin with their time, so inserts append to the table and old links are a range of it.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'alter table emails add column tracking_skipped text',
  'alter table emails add column has_copies integer not null default 0',
  `create table links (
    id text primary key, workspace_id text not null, email_id text not null, url text not null,
    created_at integer not null, clicks integer not null, first_clicked_at integer, last_clicked_at integer)
    strict, without rowid`,
  'create index links_of_email on links (email_id)',
  // In the order of the statistics of an email.
  'create index links_clicked on links (email_id, clicks desc) where clicks > 0',
  `create table html_edits (
    email_id text primary key, workspace_id text not null, created_at integer not null, edits text not null)
    strict, without rowid`,
  `create table recipient_copies (
    recipient_id text primary key, email_id text not null, workspace_id text not null, created_at integer not null,
    prefix integer not null, suffix integer not null, bytes blob not null, signature text) strict`,
  'create index recipient_copies_of_email on recipient_copies (email_id)',
  `create table unsubscribe_links (
    recipient_id text primary key, workspace_id text not null, email_id text not null, address text not null,
    sender text not null, created_at integer not null, unsubscribed_at integer) strict, without rowid`,
])
