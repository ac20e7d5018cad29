/**
 * Tracked links, what restores the HTML as it was submitted, and unsubscribe links.
 *
 * The ids of links and of recipients begin with their time, so inserts append to the table and old links are a range of it.
 */

export const tracking = [
  // A link of an email whose clicks are counted.
  `create table links (
    id text primary key, workspace_id text not null, email_id text not null, url text not null,
    created_at integer not null, clicks integer not null, first_clicked_at integer, last_clicked_at integer)
    strict, without rowid`,
  // Finds the links of an email.
  'create index links_of_email on links (email_id)',
  // Lists the links of an email that were clicked, those with most clicks first.
  'create index links_clicked on links (email_id, clicks desc) where clicks > 0',

  // What was changed in the HTML of an email for tracking, so that it can be shown as it was submitted.
  `create table html_edits (
    email_id text primary key, workspace_id text not null, created_at integer not null, edits text not null)
    strict, without rowid`,

  // What an unsubscribe link needs of its recipient for as long as links are kept: longer than the recipient's row.
  `create table unsubscribe_links (
    recipient_id text primary key, workspace_id text not null, email_id text not null, address text not null,
    sender text not null, created_at integer not null, unsubscribed_at integer) strict, without rowid`,
] as const
