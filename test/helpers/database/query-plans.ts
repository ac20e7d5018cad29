/** Exceptions of the test of query plans, each with its reason. */

/** Tables with one or few rows for the whole installation; some hold running work. */
export const smallTables: ReadonlySet<string> = new Set([
  'changes', // a row for each table that caches hold
  'service_state',
  'kysely_migration',
  'zone_serial',
  'audience_removals',
  'webhook_removals',
  'erasures',
  'hold_rules', // 200
  'greylist_totals', // 2
  'fence', // a row for each writer of PostgreSQL
])

/** Tables whose rows of a workspace are bounded when they are made, or of a few kinds. */
export const boundedTables: ReadonlySet<string> = new Set([
  ...smallTables,
  'members', // 1,000, with those who are invited
  'invitations',
  'templates', // 10,000
  'webhooks', // 50
  'email_counts',
  'contact_counts',
  'usage', // a bucket for each hour of a day and each day of a month
])

/** Reads of lists that have neither a limit nor one row, each with its reason. */
export const shortReads: readonly AllowedPlan[] = [
  {
    statement: 'select "id", "audience_id" from "contacts" where "workspace_id" = ? and "email_key" = ?',
    because: 'an address is in an audience once, so these are as many as the audiences that people have made',
  },
  {
    statement: `select ${[
      ...['scheduled', 'queued', 'sent', 'delivered', 'complained', 'bounced', 'failed', 'cancelled'],
      ...['queued', 'sent', 'delivered', 'bounced', 'failed', 'suppressed', 'cancelled', 'complained'].map(
        (state) => `recipients_${state}`,
      ),
      'opens',
      ...['unique_opens', 'clicks', 'unique_clicks', 'machine_opens', 'machine_clicks'],
    ]
      .map((column) => `sum("${column}") as "${column}"`)
      .join(
        ', ',
      )} from "email_metrics" where "workspace_id" = ? and "domain" = ? and "tag" = ? and "bucket" >= ? and "bucket" < ?`,
    because: 'a row for each quarter of an hour, and a step asks for those of some days',
  },
]

/** What the workspaces of one owner hold of inbound mail. */
const heldOfOwner = `(select coalesce(sum(bytes), 0) from (select bytes from inbound_totals
    where workspace_id in (select ? union all select theirs.workspace_id from members as own
    join members as theirs on theirs.user_id = own.user_id and theirs.role = 'owner'
    where own.workspace_id = ? and own.role = 'owner') and (workspace_id = ? or coalesce((select value from service_state where key = ?), '') not in (workspace_id, ?))
    limit ?) as held)`

export interface AllowedPlan {
  /** The complete statement, as it is compiled: a similar one needs its own reason. */
  readonly statement: string
  readonly because: string
}

export const allowedPlans: readonly AllowedPlan[] = [
  {
    statement:
      'select "webhook_id", "last_status", "last_at", "last_response_status" from "webhook_cursors" ' +
      'where "webhook_id" = ? and "last_at" is not null order by "last_at" desc limit ?',
    because: 'a webhook has a row for each slot in which it has had attempts',
  },
  {
    statement: 'select "slot" from (select 0 as slot) as "known"',
    because: 'SQLite has this slot alone, and does not run the statement',
  },
  {
    statement:
      'delete from "known_browsers" where "user_id" = ? and "token_hash" in (select "token_hash" from "known_browsers" ' +
      'where "user_id" = ? order by "last_used_at" desc limit ? offset ?)',
    because: 'a user has at most 20 of them and the one that has just been added',
  },
  {
    statement:
      'select * from (select "id", "email_id", "url" from "links" where "email_id" = ? limit ?) as "known" ' +
      'where "url" = ? limit ?',
    because: 'the links of one email, found by an index, and no more of them than the limit',
  },
  {
    statement:
      'update "links" set "clicks" = "counted"."clicks", "first_clicked_at" = "counted"."first", ' +
      `"last_clicked_at" = "counted"."last" from (select json_extract("events"."data", '$.url') as "url", ` +
      'count(*) as "clicks", ' +
      `min(cast(round(unixepoch(json_extract("events"."data", '$.clicked_at'), 'subsec') * 1000) as integer)) as "first", ` +
      `max(cast(round(unixepoch(json_extract("events"."data", '$.clicked_at'), 'subsec') * 1000) as integer)) as "last" ` +
      'from "events" where "email_id" = ? and "workspace_id" = ? and ' +
      `events.type = 'email.clicked' and json_extract("events"."data", '$.machine') = 0 ` +
      `group by json_extract("events"."data", '$.url')) as "counted" ` +
      'where "links"."email_id" = ? and "links"."workspace_id" = ? and "links"."url" = "counted"."url"',
    because:
      'the clicks of one email, which are bounded as they are recorded, found and sorted once for a sweep of a scanner',
  },
  {
    statement: `select ${heldOfOwner} as "bytes"`,
    because: 'the workspaces of one owner, found by an index, and no more of them than the limit',
  },
  {
    statement:
      `insert into "inbound_totals" ("workspace_id", "bytes") select ? as "workspace_id", 0 as "bytes" where ` +
      `${heldOfOwner} + ? <= ? on conflict ("workspace_id", "slot") do update set "bytes" = inbound_totals.bytes`,
    because: 'the same',
  },
  {
    statement: 'select "seq" from "events" where "slot" = ? order by "seq" desc limit ?',
    because: 'the newest one: it begins at the end of the primary key, and there is one slot, so it goes no further',
  },
  {
    statement: 'select "created_at" from "events" order by "seq" desc limit ?',
    because: 'the same',
  },
  {
    statement: 'select count(*) as "count" from (select "id" from "queue" where "hold_rule" = ? limit ?) as "held"',
    because: 'the entries of one rule in its index, and no more of them than the limit',
  },
  {
    statement:
      'select count(*) as "count" from (select "subject" from "breaker_states" where "state" = ? and "scope" = ? ' +
      'limit ?) as "some"',
    because: 'the same: the scopes in one state',
  },
  {
    statement:
      'select sum("settled") as "settled", sum("bounced") as "bounced", sum("complained") as "complained" from ' +
      '(select "settled", "bounced", "complained" from "breaker_counts" where "workspace_id" = ? and "scope" = ? ' +
      'and "subject" = ? and "bucket" > ? limit ?) as "rows"',
    because: 'the same: the quarters of an hour of one scope',
  },
  {
    statement: 'select * from "sts_policies" order by "domain" limit ?',
    because: 'once at the start, into the cache whose bound is that of the table',
  },
  {
    statement:
      'select "provider", "source", "sessions", "ceiling", "ceiling_at", "messages", "messages_at", "rate", ' +
      '"rate_refused_at", "pause_kind", "pause_reply", "pause_since", "pause_until", "pause_probes", "updated_at", ' +
      '"reset" from "provider_paces" where "reset" = 0 order by "updated_at" desc limit ?',
    because: 'it begins at the end of an index and goes no further than its limit',
  },
  {
    statement:
      'select "provider", "source", "sessions", "ceiling", "ceiling_at", "messages", "messages_at", "rate", ' +
      '"rate_refused_at", "pause_kind", "pause_reply", "pause_since", "pause_until", "pause_probes", "updated_at", ' +
      '"reset" from "provider_paces" where "reset" = 0 and "node" = ? order by "updated_at" desc limit ?',
    because: 'read once at the start: at most 10,000 rows of each node',
  },
  {
    statement: 'select "seq", "created_at" from "events" order by "seq" limit ?',
    because: 'the oldest first, in slices: it begins at the end of the primary key and goes no further than its limit',
  },
  {
    statement:
      'select count(*) as "count", max("seq") as "end" from (select "seq" from "events" where "workspace_id" = ? ' +
      'and "type" = ? and "seq" >= ? and "seq" <= ? order by "seq" limit ?) as "step"',
    because: 'what it walks through is one step of an index, which the inner limit bounds',
  },
  {
    statement:
      `select count(*) filter(where "status" not in ('sending', 'void')) as "sent", ` +
      `count(*) filter(where "status" = 'verified') as "verified" from (select "status" from "sms_codes" ` +
      'where "workspace_id" = ? and "prefix" = ? and "created_at" > ? and "created_at" <= ? ' +
      'order by "created_at" desc limit ?) as "judged"',
    because: 'the same: the newest 500 codes of a prefix',
  },
  {
    statement: 'select "seq", "at" from "audit_log" order by "seq" limit ?',
    because: 'the same, of the audit log',
  },
  {
    statement: 'select "recipient_id", "created_at" from "unsubscribe_links" order by "recipient_id" limit ?',
    because: 'the same, of unsubscribe links, whose ids begin with their time',
  },
  {
    statement: 'select "id", "name", "slug", "plan", "created_at" from "workspaces" order by "created_at", "id"',
    because: 'the operator asks for all workspaces there are',
  },
  {
    statement:
      'select "domains"."id", "dkim_keys"."selector", "dkim_keys"."public_record" from "domains" inner join "dkim_keys" ' +
      'on "dkim_keys"."workspace_id" = "domains"."workspace_id" and "dkim_keys"."domain" = "domains"."domain" ' +
      'where substr(domains.id, 15) = ? order by "dkim_keys"."selector"',
    because: 'one domain is found by an index, and what is sorted are its two keys',
  },
  {
    statement:
      'select "id", "email", "full_name", "avatar_url", "password_hash", "created_at" from "users" order by "email"',
    because: 'the operator asks for all users there are',
  },
  {
    statement:
      'select "workspaces"."id", "workspaces"."name", "workspaces"."slug", "workspaces"."icon_url", ' +
      '"workspaces"."created_at", "workspaces"."language", "workspaces"."postal_address", ' +
      '"members"."role", "owners"."user_id" as "owner_id" from "members" ' +
      'inner join "workspaces" on "workspaces"."id" = "members"."workspace_id" ' +
      'inner join "members" as "owners" on "owners"."workspace_id" = "workspaces"."id" ' +
      'where "members"."user_id" = ? and "owners"."role" = ? ' +
      'order by "workspaces"."created_at", "workspaces"."id" limit ? offset ?',
    because: 'the workspaces of one user, found by an index of members; their order is of another table',
  },
]
