/** Emails that are sent: their records, their bytes, their recipients and attempts, and counts of them by status. */
import { spooled } from './spool.js'

/**
 * A recipient is counted in one state: `complained` if it complained, otherwise its status, with those of a scheduled
 * email under `queued`.
 */
const recipientStates = [
  ...(['queued', 'sent', 'delivered', 'bounced', 'failed', 'suppressed', 'cancelled', 'complained'] as const),
]

/** The columns of `emails` and of the roll-ups with the numbers of recipients in each state. */
export const recipientColumns: readonly string[] = recipientStates.map((state) => `recipients_${state}`)

/** Selects a row for each email that has recipients: its id, and `recipientColumns` counted from its recipients. */
export const countedRecipients = `select email_id, ${recipientStates
  .map((state) => {
    if (state === 'complained') return 'count(complained_at)'
    const isIn = state === 'queued' ? `status in ('queued', 'scheduled')` : `status = '${state}'`
    return `sum(${isIn} and complained_at is null)`
  })
  .map((sum, at) => `${sum} as ${recipientColumns[at]}`)
  .join(', ')} from recipients group by email_id`

const records = [
  // An email: its sender, what its header says, its state, and the numbers of its recipients in each state.
  `create table emails (
    id text primary key, workspace_id text not null, source text not null check (source in ('smtp', 'rest', 'service')),
    message_id text not null, envelope_from text not null, envid text, ret text check (ret in ('full', 'headers')),
    from_email text not null, from_name text not null, to_emails text not null, cc_emails text not null,
    bcc_emails text not null, reply_to text not null, subject text not null, tags text not null,
    track_opens integer not null, track_clicks integer not null,
    priority text not null check (priority in ('high', 'normal', 'low')), size integer not null,
    smtputf8 integer not null,
    status text not null check (status in ('scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed',
      'suppressed', 'cancelled', 'complained')),
    created_at integer not null, scheduled_for integer, sent_at integer, delivered_at integer, opened_at integer,
    clicked_at integer, bounced_at integer,
    key_id text, template_id text, tracking_skipped text, has_copies integer not null default 0,
    from_domain text not null default '', broadcast_id text, tls_required text check (tls_required in ('yes', 'no')),
    ${recipientColumns.map((column) => `${column} integer not null default 0`).join(', ')}) strict, without rowid`,
  // Lists all emails of a workspace by time, those of broadcasts too, for exports.
  'create index emails_of_workspace on emails (workspace_id, created_at)',
  // Finds the emails that are to be removed for their age.
  'create index emails_age on emails (created_at)',
  // Lists the emails that belong to no broadcast, and those of one broadcast.
  'create index emails_listed on emails (workspace_id, broadcast_id, created_at)',
  // Lists the same emails of one status.
  'create index emails_by_status on emails (workspace_id, broadcast_id, status, created_at)',
  // Lists the emails of a broadcast that were opened.
  `create index emails_opened on emails (workspace_id, broadcast_id, opened_at, id)
    where broadcast_id is not null and opened_at is not null`,
  // Lists those with a click.
  `create index emails_clicked on emails (workspace_id, broadcast_id, clicked_at, id)
    where broadcast_id is not null and clicked_at is not null`,
] as const

/** Whether the list of emails of a status has an email. `row` is empty, or a prefix such as `new.`. */
export const isListed = {
  bounced: (row: string) => `(${row}recipients_bounced > 0)`,
  failed: (row: string) => `(${row}recipients_failed > 0 or ${row}status = 'failed')`,
} as const

const counted = (row: 'new' | 'old', by: '+ 1' | '- 1'): string =>
  `insert into email_counts (workspace_id, status, count) values (${row}.workspace_id, ${row}.status, 0 ${by})
   on conflict (workspace_id, status, slot) do update set count = count ${by};`

const countListed = (row: 'new' | 'old', status: string, by: string): string =>
  `insert into email_counts (workspace_id, status, count, listed) values (${row}.workspace_id, '${status}', 0, ${by})
    on conflict (workspace_id, status, slot) do update set listed = listed + excluded.listed;`

/** The list of a status that depends on recipients, and its count. */
const listOf = (status: keyof typeof isListed): readonly string[] => [
  // Lists these emails. The condition is a key too: otherwise SQLite takes the index of all, and compares row by row.
  `create index emails_${status} on emails (workspace_id, broadcast_id, ${isListed[status]('')}, created_at)
    where ${isListed[status]('')} = 1`,
  // Counts an email that is in the list from the beginning.
  `create trigger emails_${status}_come after insert on emails
    when new.broadcast_id is null and ${isListed[status]('new.')} begin
    ${countListed('new', status, '1')}
  end`,
  // Counts an email that enters or leaves the list.
  `create trigger emails_${status}_change after update of status, recipients_${status} on emails
    when new.broadcast_id is null and ${isListed[status]('new.')} <> ${isListed[status]('old.')} begin
    ${countListed('new', status, `${isListed[status]('new.')} - ${isListed[status]('old.')}`)}
  end`,
  // Subtracts an email of the list that is removed.
  `create trigger emails_${status}_go after delete on emails
    when old.broadcast_id is null and ${isListed[status]('old.')} begin
    ${countListed('old', status, '-1')}
  end`,
]

/** Messages of broadcasts are left out, because `broadcast_counts` counts them. */
const counts = [
  // How many emails of a workspace have a status, and how many the list of that status has.
  `create table email_counts (
    workspace_id text not null, status text not null, count integer not null, listed integer not null default 0,
    slot integer not null default 0, primary key (workspace_id, status, slot)) strict, without rowid`,
  // Counts a new email under its status.
  `create trigger emails_come after insert on emails when new.broadcast_id is null begin ${counted('new', '+ 1')} end`,
  // Subtracts a removed email from the count of its status.
  `create trigger emails_go after delete on emails when old.broadcast_id is null begin ${counted('old', '- 1')} end`,
  // Moves an email from the count of its old status to that of its new one.
  `create trigger emails_change after update of status on emails
    when old.status <> new.status and new.broadcast_id is null
    begin ${counted('old', '- 1')} ${counted('new', '+ 1')} end`,
  ...listOf('bounced'),
  ...listOf('failed'),
] as const

const bytes = [
  // The bytes of a message: in the row, or at a place in a spool file.
  `create table raw_messages (
    email_id text primary key, workspace_id text not null, created_at integer not null, raw blob not null,
    spool_file integer, spool_at integer, spool_bytes integer, spool_crc integer) strict`,
  // Finds the messages that are to be removed for their age.
  'create index raw_messages_age on raw_messages (created_at)',
  ...spooled('raw_messages'),

  // The field DKIM-Signature of a message, which is put before it when it is sent.
  `create table dkim_signatures (
    email_id text primary key, workspace_id text not null, created_at integer not null, field text not null) strict,
    without rowid`,

  // What of a message is its own for a recipient: bytes between a prefix and a suffix that all have in common.
  `create table recipient_copies (
    recipient_id text primary key, email_id text not null, workspace_id text not null, created_at integer not null,
    prefix integer not null, suffix integer not null, bytes blob not null, signature text) strict`,
  // Finds the copies of an email.
  'create index recipient_copies_of_email on recipient_copies (email_id)',
] as const

const deliveries = [
  // A recipient of an email, and what became of the message to it.
  `create table recipients (
    id text primary key, email_id text not null, workspace_id text not null, address text not null, domain text not null,
    status text not null check (status in ('scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed',
      'suppressed', 'cancelled')),
    notify text, orcpt text, attempts integer not null default 0, last_response text, reason text, mx text,
    transcript text, created_at integer not null, delivered_at integer, settled_at integer,
    complained_at integer) strict, without rowid`,
  // Finds the recipients of an email.
  'create index recipients_of_email on recipients (email_id)',

  // Each attempt to deliver to a recipient, with the reply.
  `create table attempts (
    seq integer primary key autoincrement, workspace_id text not null, email_id text not null,
    recipient_id text not null, number integer not null, at integer not null, duration integer not null, mx text,
    address text, tls text, reached integer not null,
    outcome text not null check (outcome in ('delivered', 'sent', 'deferred', 'bounced', 'failed')),
    reason text, response text not null, next_attempt_at integer) strict`,
  // Finds the attempts of an email.
  'create index attempts_of_email on attempts (email_id)',

  // The first answer to a request with an idempotency key, for its repetitions; or the progress of a request in parts.
  `create table idempotency (
    workspace_id text not null, key text not null, fingerprint text not null, email_id text, answer text,
    progress integer, created_at integer not null, primary key (workspace_id, key)) strict, without rowid`,
  // Finds the answers that are to be removed for their age.
  'create index idempotency_age on idempotency (created_at)',
] as const

export const emails = [...records, ...counts, ...bytes, ...deliveries] as const
