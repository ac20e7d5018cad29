/** Verification codes sent by SMS. */

export const sms = [
  // A code, as a salted hash, with its attempts and its message.
  `create table sms_codes (
    id text primary key, workspace_id text not null, phone text not null, prefix text not null, country text not null,
    status text not null
      check (status in ('sending', 'pending', 'verified', 'expired', 'max_attempts', 'replaced', 'void')),
    salt blob not null, code_hash blob not null, attempts integer not null, metadata text,
    encoding text not null check (encoding in ('gsm', 'ucs2')), segments integer not null, provider text not null,
    delivery text not null check (delivery in ('sending', 'sent', 'delivered', 'failed')), reason text,
    created_at integer not null, expires_at integer not null, sent_at integer, verified_at integer,
    delivered_at integer, failed_at integer) strict, without rowid`,
  // Allows one pending code of a number, and finds it.
  `create unique index sms_codes_pending on sms_codes (workspace_id, phone) where status = 'pending'`,
  // Finds the newest code of a number that a check may be about.
  `create index sms_codes_to_check on sms_codes (workspace_id, phone, sent_at)
    where status in ('pending', 'verified', 'expired', 'max_attempts')`,
  // Finds the codes that were being sent when a process ended.
  `create index sms_codes_sending on sms_codes (id) where status = 'sending'`,
  // Counts the newest codes of a prefix, and how many of them were verified.
  'create index sms_codes_of_prefix on sms_codes (workspace_id, prefix, created_at, status)',
  // Finds the codes that are to be removed for their age.
  'create index sms_codes_by_age on sms_codes (created_at)',

  // The messages that carry a code, under the ids of the provider.
  `create table sms_parts (
    sms_id text not null, part integer not null, workspace_id text not null, provider text not null,
    message_id text not null, state text not null check (state in ('sent', 'delivered', 'failed')),
    primary key (sms_id, part)) strict, without rowid`,
  // Finds the message that a receipt of the provider names.
  'create index sms_parts_by_message on sms_parts (provider, message_id)',

  // Prefixes of numbers that are held, because too few of their codes were verified.
  `create table sms_holds (
    workspace_id text not null, prefix text not null, held_at integer not null, until_at integer not null,
    sent integer not null, verified integer not null, released_at integer,
    primary key (workspace_id, prefix, held_at)) strict, without rowid`,
  // Finds the holds that are to be removed for their age.
  'create index sms_holds_by_end on sms_holds (until_at)',
] as const
