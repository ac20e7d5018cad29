/** Verification codes sent by SMS: the codes, the messages that carried them, and prefixes of numbers that are held. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table sms_codes (
    id text primary key, workspace_id text not null, phone text not null, prefix text not null, country text not null,
    status text not null
      check (status in ('sending', 'pending', 'verified', 'expired', 'max_attempts', 'replaced', 'void')),
    salt blob not null, code_hash blob not null, attempts integer not null, metadata text,
    encoding text not null check (encoding in ('gsm', 'ucs2')), segments integer not null, provider text not null,
    delivery text not null check (delivery in ('sending', 'sent', 'delivered', 'failed')), reason text,
    created_at integer not null, expires_at integer not null, sent_at integer, verified_at integer,
    delivered_at integer, failed_at integer) strict, without rowid`,
  `create unique index sms_codes_pending on sms_codes (workspace_id, phone) where status = 'pending'`,
  `create index sms_codes_to_check on sms_codes (workspace_id, phone, sent_at)
    where status in ('pending', 'verified', 'expired', 'max_attempts')`,
  `create index sms_codes_sending on sms_codes (id) where status = 'sending'`,
  'create index sms_codes_of_prefix on sms_codes (workspace_id, prefix, created_at, status)',
  'create index sms_codes_by_age on sms_codes (created_at)',
  `create table sms_parts (
    sms_id text not null, part integer not null, workspace_id text not null, provider text not null,
    message_id text not null, state text not null check (state in ('sent', 'delivered', 'failed')),
    primary key (sms_id, part)) strict, without rowid`,
  'create index sms_parts_by_message on sms_parts (provider, message_id)',
  `create table sms_holds (
    workspace_id text not null, prefix text not null, held_at integer not null, until_at integer not null,
    sent integer not null, verified integer not null, released_at integer,
    primary key (workspace_id, prefix, held_at)) strict, without rowid`,
  'create index sms_holds_by_end on sms_holds (until_at)',
  'drop index events_of_notices',
  `create index events_of_notices on events (seq)
    where type in ('invitation.created', 'domain.broken', 'domain.failed', 'webhook.disabled', 'sms.held')`,
])
