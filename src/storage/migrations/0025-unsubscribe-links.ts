/**
 * What an unsubscribe link needs of its recipient, for as long as links are kept: longer than the recipient's own row.
 *
 * Ids of recipients begin with their time, so inserts append to the table and old links are a range of it.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table unsubscribe_links (
    recipient_id text primary key, workspace_id text not null, email_id text not null, address text not null,
    sender text not null, created_at integer not null, unsubscribed_at integer) strict, without rowid`,
])
