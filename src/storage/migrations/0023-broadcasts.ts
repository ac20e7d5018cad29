/**
 * Broadcasts: their content as it was when they were sent, what each recipient's message has of its own, and counts,
 * maintained by triggers on the emails that they become. Lists and counts of emails leave these emails out. Each email
 * has the domain of its sender, by which metrics and exports filter.
 */
import { runStatements } from '../migrate.js'

const counted = (row: 'new' | 'old', by: '+ 1' | '- 1'): string =>
  `insert into email_counts (workspace_id, status, count) values (${row}.workspace_id, ${row}.status, 0 ${by})
   on conflict (workspace_id, status) do update set count = count ${by};`

const statuses = ['scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'complained'] as const

const moved = statuses
  .map((status) => `${status} = ${status} - (old.status = '${status}') + (new.status = '${status}')`)
  .join(', ')

export const up = runStatements([
  `alter table emails add column from_domain text not null default ''`,
  'alter table emails add column broadcast_id text',
  // What follows the last @: everything up to it is what is left when all other characters are trimmed.
  `update emails set from_domain = lower(substr(from_email,
    length(rtrim(from_email, replace(from_email, '@', ''))) + 1))`,
  // Of the emails that belong to no broadcast, and of those of each broadcast.
  'create index emails_listed on emails (workspace_id, broadcast_id, created_at)',
  'drop index emails_by_status',
  'create index emails_by_status on emails (workspace_id, broadcast_id, status, created_at)',
  'drop trigger emails_come',
  'drop trigger emails_go',
  'drop trigger emails_change',
  `create trigger emails_come after insert on emails when new.broadcast_id is null begin ${counted('new', '+ 1')} end`,
  `create trigger emails_go after delete on emails when old.broadcast_id is null begin ${counted('old', '- 1')} end`,
  `create trigger emails_change after update of status on emails
    when old.status <> new.status and new.broadcast_id is null
    begin ${counted('old', '- 1')} ${counted('new', '+ 1')} end`,
  // The bodies come last: what stands behind a megabyte is read through all of its pages.
  `create table broadcasts (
    id text primary key, workspace_id text not null, name text not null, audience_id text not null,
    sender text not null, reply_to text not null, subject text, template_id text,
    status text not null check (status in ('draft', 'scheduled', 'sending', 'paused', 'sent', 'cancelled')),
    scheduled_for integer, started_at integer, finished_at integer, key_id text,
    cursor text not null, ceiling text not null, expanded integer not null, waits_until integer, note text,
    version integer not null, created_at integer not null, updated_at integer not null,
    html text, text text) strict, without rowid`,
  'create index broadcasts_of_workspace on broadcasts (workspace_id, id)',
  // Few: those that may still have messages to make or to cancel.
  `create index broadcasts_active on broadcasts (workspace_id, audience_id)
    where status <> 'draft' and finished_at is null`,
  // All columns that the list of them has: it is read five times a second.
  `create index broadcasts_running on broadcasts (id, workspace_id, status, finished_at)
    where status in ('sending', 'paused', 'cancelled') and finished_at is null`,
  `create index broadcasts_due on broadcasts (scheduled_for) where status = 'scheduled'`,
  `create table broadcast_frames (
    broadcast_id text primary key, workspace_id text not null, created_at integer not null, frame blob not null)
    strict`,
  `create table broadcast_links (
    broadcast_id text not null, url text not null, workspace_id text not null, created_at integer not null,
    primary key (broadcast_id, url)) strict, without rowid`,
  `create table broadcast_messages (
    email_id text primary key, recipient_id text not null, workspace_id text not null, broadcast_id text not null,
    contact_id text not null, address text not null, slots text, created_at integer not null,
    unsubscribed_at integer, unsubscribed_contact text) strict, without rowid`,
  'create unique index broadcast_messages_of_recipient on broadcast_messages (recipient_id)',
  // By age, those whose bytes can still be built.
  `create index broadcast_messages_kept on broadcast_messages (created_at, email_id) where slots is not null`,
  `create unique index broadcast_messages_of_contact on broadcast_messages (broadcast_id, contact_id)`,
  `create index broadcast_messages_left on broadcast_messages (unsubscribed_contact)
    where unsubscribed_contact is not null`,
  // A link undoes what it has done, not what was done after the contact was subscribed again.
  `create trigger contacts_subscribed_again after update of subscribed on contacts
    when old.subscribed = 0 and new.subscribed = 1 begin
    update broadcast_messages set unsubscribed_contact = null
      where unsubscribed_contact = new.id and workspace_id = new.workspace_id;
  end`,
  `create table broadcast_counts (
    broadcast_id text primary key, workspace_id text not null, recipients integer not null default 0,
    ${statuses.map((status) => `${status} integer not null default 0`).join(', ')},
    unique_opens integer not null default 0, unique_clicks integer not null default 0,
    unsubscribed integer not null default 0) strict, without rowid`,
  `create trigger broadcast_emails_come after insert on emails when new.broadcast_id is not null begin
    insert into broadcast_counts (broadcast_id, workspace_id, recipients, queued)
      values (new.broadcast_id, new.workspace_id, 1, 1)
      on conflict (broadcast_id) do update set recipients = recipients + 1, queued = queued + 1;
  end`,
  `create trigger broadcast_emails_change after update of status on emails
    when old.status <> new.status and new.broadcast_id is not null begin
    update broadcast_counts set ${moved} where broadcast_id = new.broadcast_id;
  end`,
  `create trigger broadcast_emails_opened after update of opened_at on emails
    when old.opened_at is null and new.opened_at is not null and new.broadcast_id is not null begin
    update broadcast_counts set unique_opens = unique_opens + 1 where broadcast_id = new.broadcast_id;
  end`,
  `create trigger broadcast_emails_clicked after update of clicked_at on emails
    when (old.clicked_at is null) <> (new.clicked_at is null) and new.broadcast_id is not null begin
    update broadcast_counts set unique_clicks = unique_clicks + (new.clicked_at is not null) - (old.clicked_at is not null)
      where broadcast_id = new.broadcast_id;
  end`,
  `create trigger broadcast_unsubscribed after update of unsubscribed_at on broadcast_messages
    when (old.unsubscribed_at is null) <> (new.unsubscribed_at is null) begin
    update broadcast_counts
      set unsubscribed = unsubscribed + (new.unsubscribed_at is not null) - (old.unsubscribed_at is not null)
      where broadcast_id = new.broadcast_id;
  end`,
  'alter table queue add column broadcast_id text',
  'create index queue_of_broadcast on queue (broadcast_id, held, attempts, waits_for) where broadcast_id is not null',
])
