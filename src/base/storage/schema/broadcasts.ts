/**
 * Broadcasts: their content as it was when they were sent, the parts that differ in each recipient's message, and
 * counts of the emails that they become.
 */

/** The statuses that have a column in the counts of a broadcast. */
export const countedStatuses = [
  'scheduled',
  'queued',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'cancelled',
  'complained',
] as const

const moved = countedStatuses
  .map((status) => `${status} = ${status} - (old.status = '${status}') + (new.status = '${status}')`)
  .join(', ')

const records = [
  // A broadcast and how far it is; the bodies come last, since what is behind a megabyte is read through all of its pages.
  `create table broadcasts (
    id text primary key, workspace_id text not null, name text not null, audience_id text not null,
    sender text not null, reply_to text not null, subject text, template_id text,
    status text not null check (status in ('draft', 'scheduled', 'sending', 'paused', 'sent', 'cancelled')),
    scheduled_for integer, started_at integer, finished_at integer, key_id text,
    cursor text not null, ceiling text not null, expanded integer not null, waits_until integer, note text,
    version integer not null, created_at integer not null, updated_at integer not null, not_opened_of text,
    html text, text text, blocks text) strict, without rowid`,
  // Lists the broadcasts of a workspace.
  'create index broadcasts_of_workspace on broadcasts (workspace_id, id)',
  // Finds the few broadcasts of an audience that may still have messages to make or to cancel.
  `create index broadcasts_active on broadcasts (workspace_id, audience_id)
    where status <> 'draft' and finished_at is null`,
  // Lists the broadcasts to work on, five times a second: it has all columns of that list.
  `create index broadcasts_running on broadcasts (id, workspace_id, status, finished_at)
    where status in ('sending', 'paused', 'cancelled') and finished_at is null`,
  // Finds the scheduled broadcasts that are due.
  `create index broadcasts_due on broadcasts (scheduled_for) where status = 'scheduled'`,

  // The message of a broadcast with places for what is a recipient's own.
  `create table broadcast_frames (
    broadcast_id text primary key, workspace_id text not null, created_at integer not null, frame blob not null)
    strict`,
  // The links of a broadcast whose clicks are counted. A URL may be too long for a key; `url_key` is its hash.
  `create table broadcast_links (
    broadcast_id text not null, url_key text not null, url text not null, workspace_id text not null,
    created_at integer not null, primary key (broadcast_id, url_key)) strict, without rowid`,
] as const

const messages = [
  // The message of a broadcast to one contact; `slots` has the parts that differ from other messages.
  `create table broadcast_messages (
    email_id text primary key, recipient_id text not null, workspace_id text not null, broadcast_id text not null,
    contact_id text not null, address text not null, slots text, created_at integer not null,
    unsubscribed_at integer, unsubscribed_contact text) strict, without rowid`,
  // Finds the message of a recipient, as for its unsubscribe link.
  'create unique index broadcast_messages_of_recipient on broadcast_messages (recipient_id)',
  // Finds by age the messages whose bytes can still be built.
  `create index broadcast_messages_kept on broadcast_messages (created_at, email_id) where slots is not null`,
  // Makes one message of a broadcast for a contact.
  `create unique index broadcast_messages_of_contact on broadcast_messages (broadcast_id, contact_id)`,
  // Lists who has unsubscribed by a link of a broadcast.
  `create index broadcast_messages_unsubscribed
    on broadcast_messages (workspace_id, broadcast_id, unsubscribed_at, email_id) where unsubscribed_at is not null`,
  // Finds the messages whose link has unsubscribed a contact, for the trigger below.
  `create index broadcast_messages_left on broadcast_messages (unsubscribed_contact)
    where unsubscribed_contact is not null`,
  // Makes a link undo what it has done, and not what was done after the contact was subscribed again.
  `create trigger contacts_subscribed_again after update of subscribed on contacts
    when old.subscribed = 0 and new.subscribed = 1 begin
    update broadcast_messages set unsubscribed_contact = null
      where unsubscribed_contact = new.id and workspace_id = new.workspace_id;
  end`,
] as const

const counts = [
  // How many emails of a broadcast have each status, and how many were opened, clicked and unsubscribed.
  `create table broadcast_counts (
    broadcast_id text not null, workspace_id text not null, recipients integer not null default 0,
    ${countedStatuses.map((status) => `${status} integer not null default 0`).join(', ')},
    unique_opens integer not null default 0, unique_clicks integer not null default 0,
    unsubscribed integer not null default 0, slot integer not null default 0,
    primary key (broadcast_id, slot)) strict, without rowid`,
  // Counts a new email of a broadcast.
  `create trigger broadcast_emails_come after insert on emails when new.broadcast_id is not null begin
    insert into broadcast_counts (broadcast_id, workspace_id, recipients, queued)
      values (new.broadcast_id, new.workspace_id, 1, 1)
      on conflict (broadcast_id, slot) do update set recipients = recipients + 1, queued = queued + 1;
  end`,
  // Moves an email of a broadcast from one status to the other.
  `create trigger broadcast_emails_change after update of status on emails
    when old.status <> new.status and new.broadcast_id is not null begin
    update broadcast_counts set ${moved} where broadcast_id = new.broadcast_id;
  end`,
  // Counts the first open of an email.
  `create trigger broadcast_emails_opened after update of opened_at on emails
    when old.opened_at is null and new.opened_at is not null and new.broadcast_id is not null begin
    update broadcast_counts set unique_opens = unique_opens + 1 where broadcast_id = new.broadcast_id;
  end`,
  // Counts the first click of an email, or takes it back when it was a scanner's.
  `create trigger broadcast_emails_clicked after update of clicked_at on emails
    when (old.clicked_at is null) <> (new.clicked_at is null) and new.broadcast_id is not null begin
    update broadcast_counts
      set unique_clicks = unique_clicks + case when new.clicked_at is null then -1 else 1 end
      where broadcast_id = new.broadcast_id;
  end`,
  // Counts who unsubscribes by a link of the broadcast, or undoes it.
  `create trigger broadcast_unsubscribed after update of unsubscribed_at on broadcast_messages
    when (old.unsubscribed_at is null) <> (new.unsubscribed_at is null) begin
    update broadcast_counts
      set unsubscribed = unsubscribed + case when new.unsubscribed_at is null then -1 else 1 end
      where broadcast_id = new.broadcast_id;
  end`,
] as const

export const broadcasts = [...records, ...messages, ...counts] as const
