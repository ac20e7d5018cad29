/** Inbound mail: its record, its bytes, and what is still to be processed. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table inbound_emails (
    id text primary key, workspace_id text not null, kind text not null check (kind in ('mail', 'report')),
    status text not null check (status in ('received', 'processed', 'failed')), domain text not null,
    envelope_from text not null, envelope_to text not null, client_address text not null, helo text not null,
    spf_result text not null check (spf_result in ('pass', 'fail', 'neutral')), dkim_result text not null,
    dmarc_result text not null, authentication text not null,
    message_id text, reference_ids text not null, from_email text not null, from_name text not null,
    to_emails text not null, cc_emails text not null, subject text not null, has_html integer not null,
    has_text integer not null, attachment_count integer not null, size integer not null,
    spam_status text check (spam_status in ('clean', 'suspicious', 'spam')), spam_score integer, spam_report text not null,
    received_at integer not null, processed_at integer) strict, without rowid`,
  'create index inbound_of_workspace on inbound_emails (workspace_id, kind, received_at, id)',
  'create index inbound_by_status on inbound_emails (workspace_id, kind, status, received_at, id)',
  `create index inbound_waiting on inbound_emails (received_at, id) where status = 'received'`,
  'create index inbound_age on inbound_emails (received_at)',
  `create table inbound_raw (
    inbound_id text primary key, workspace_id text not null, received_at integer not null, raw blob not null) strict`,
  'create index inbound_raw_age on inbound_raw (received_at)',
])
