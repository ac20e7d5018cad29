/** Mail that is received: its records, its bytes, how much of the disk it takes, forwarding and greylisting. */
import { spooled } from './spool.js'

/**
 * Bytes that a record of `inbound_emails` counts in `inbound_totals` besides those of its message: its row, its indexes
 * and its event take 7 KB. Its recipients count twice in addition, because record and event have them.
 */
export const INBOUND_RECORD_BYTES = 8_192

/** Bytes that a record counts while it exists, without those of its message. */
export const weightOfRecord = (row: string): string => `${INBOUND_RECORD_BYTES} + 2 * octet_length(${row}envelope_to)`

const records = [
  // A message that was received: who brought it, what its header says, and what the checks found.
  `create table inbound_emails (
    id text primary key, workspace_id text not null, kind text not null check (kind in ('mail', 'report')),
    status text not null check (status in ('received', 'processed', 'failed')), domain text not null,
    envelope_from text not null, envelope_to text not null, client_address text not null, helo text not null,
    spf_result text not null check (spf_result in ('pass', 'fail', 'neutral')), dkim_result text not null,
    dmarc_result text not null, authentication text not null,
    message_id text, reference_ids text not null, from_email text not null, from_name text not null,
    to_emails text not null, cc_emails text not null, subject text not null, has_html integer not null,
    has_text integer not null, attachment_count integer not null, size integer not null,
    spam_status text check (spam_status in ('clean', 'suspicious', 'spam')), spam_score integer,
    spam_report text not null, received_at integer not null, processed_at integer,
    arrival text not null default '{}', from_key text not null default '',
    node text not null default '') strict, without rowid`,
  // Lists the mail of a workspace.
  'create index inbound_of_workspace on inbound_emails (workspace_id, kind, received_at, id)',
  // Lists the mail of one status.
  'create index inbound_by_status on inbound_emails (workspace_id, kind, status, received_at, id)',
  // Finds the mail that is to be removed for its age.
  'create index inbound_age on inbound_emails (received_at)',
  // Finds what a node is to process, by workspace, so that no workspace waits behind another.
  `create index inbound_waiting on inbound_emails (node, workspace_id, received_at, id) where status = 'received'`,
  // Lists the mail of one sender; it has the columns of the other filters, so that a walk along it needs no rows.
  `create index inbound_by_from on inbound_emails
    (workspace_id, kind, from_key, received_at, id, status, spam_status, domain)`,
  // Lists the mail to one domain, with the columns of the other filters.
  'create index inbound_by_domain on inbound_emails (workspace_id, kind, domain, received_at, id, status, spam_status)',
  // Lists the mail of one spam status, with the columns of the other filters.
  `create index inbound_by_spam on inbound_emails (workspace_id, kind, spam_status, received_at, id, status)
    where spam_status is not null`,

  // The bytes of a message: in the row, or at a place in a spool file.
  `create table inbound_raw (
    inbound_id text primary key, workspace_id text not null, received_at integer not null, raw blob not null,
    spool_file integer, spool_at integer, spool_bytes integer, spool_crc integer) strict`,
  // Finds the messages that are to be removed for their age.
  'create index inbound_raw_age on inbound_raw (received_at)',
  ...spooled('inbound_raw'),
] as const

/** A message counts the size in its record while its bytes exist. Its two rows are deleted in either order. */
const totals = [
  // How many bytes the inbound mail of a workspace counts.
  `create table inbound_totals (
    workspace_id text not null, bytes integer not null, slot integer not null default 0,
    primary key (workspace_id, slot)) strict, without rowid`,
  // Adds the bytes of a message.
  `create trigger inbound_raw_comes after insert on inbound_raw begin
    insert into inbound_totals (workspace_id, bytes)
      select workspace_id, size from inbound_emails where id = new.inbound_id
      on conflict (workspace_id, slot) do update set bytes = bytes + excluded.bytes; end`,
  // Subtracts the bytes of a message whose record is still there.
  `create trigger inbound_raw_goes after delete on inbound_raw begin
    update inbound_totals set bytes = bytes - (select size from inbound_emails where id = old.inbound_id)
    where workspace_id = (select workspace_id from inbound_emails where id = old.inbound_id); end`,
  // Adds what a record takes.
  `create trigger inbound_emails_come after insert on inbound_emails begin
    insert into inbound_totals (workspace_id, bytes) values (new.workspace_id, ${weightOfRecord('new.')})
      on conflict (workspace_id, slot) do update set bytes = bytes + excluded.bytes; end`,
  // Subtracts what a record takes, and the bytes of its message if they are still there.
  `create trigger inbound_emails_go after delete on inbound_emails begin
    update inbound_totals set bytes = bytes - (${weightOfRecord('old.')})
      - case when exists (select 1 from inbound_raw where inbound_id = old.id) then old.size else 0 end
    where workspace_id = old.workspace_id; end`,
] as const

const forwarding = [
  // Says which mail is forwarded to which addresses.
  `create table forward_rules (
    id text primary key, workspace_id text not null, domain_id text not null, local_part text not null,
    targets text not null, webhook_id text, keep integer not null, enabled integer not null,
    created_at integer not null) strict, without rowid`,
  // Allows one rule for an address, and finds it.
  'create unique index forward_rules_of_domain on forward_rules (workspace_id, domain_id, local_part)',

  // Addresses that were asked to agree to forwarded mail, and whether they did.
  `create table forward_targets (
    workspace_id text not null, address_key text not null, id text not null, address text not null,
    requested_at integer not null, requests integer not null, confirmed_at integer,
    primary key (workspace_id, address_key)) strict, without rowid`,
  // Finds the address that a link of agreement names.
  'create unique index forward_targets_by_id on forward_targets (id)',

  // What became of a message for each address to which it was to be forwarded.
  `create table inbound_forwards (
    workspace_id text not null, inbound_id text not null, target text not null, rule_id text not null,
    status text not null check (status in ('forwarded', 'not-forwarded')), reason text,
    email_id text, created_at integer not null,
    primary key (workspace_id, inbound_id, target)) strict, without rowid`,
] as const

const countGreylisted = (row: 'new' | 'old', sign: '' | '-'): string =>
  `update greylist_totals set entries = entries + ${sign}1
    where kind = case ${row}.passes when 0 then 'waiting' else 'known' end;`

const greylist = [
  // Senders that were asked to come again, and those that did.
  `create table greylist_entries (
    key text primary key, first_at integer not null, seen_at integer not null, passes integer not null)
    strict, without rowid`,
  // Finds the oldest of the senders that have not come again.
  'create index greylist_waiting on greylist_entries (seen_at) where passes = 0',
  // Finds the oldest of the senders that have come again.
  'create index greylist_known on greylist_entries (seen_at) where passes > 0',

  // How many entries of both kinds there are.
  `create table greylist_totals (
    kind text not null check (kind in ('waiting', 'known')), entries integer not null,
    slot integer not null default 0, primary key (kind, slot)) strict, without rowid`,
  `insert into greylist_totals (kind, entries) values ('waiting', 0), ('known', 0)`,
  // Counts a new entry.
  `create trigger greylist_entries_come after insert on greylist_entries begin ${countGreylisted('new', '')} end`,
  // Subtracts an entry that is removed.
  `create trigger greylist_entries_go after delete on greylist_entries begin ${countGreylisted('old', '-')} end`,
  // Moves an entry to the other kind.
  `create trigger greylist_entries_pass after update of passes on greylist_entries
    when (old.passes = 0) <> (new.passes = 0)
    begin ${countGreylisted('old', '-')} ${countGreylisted('new', '')} end`,
] as const

export const inbound = [...records, ...totals, ...forwarding, ...greylist] as const
