/**
 * Holds the tables of what delivery has learned from other servers and from its results: paces, warm-ups, transport security,
 * the breaker.
 */

const paces = [
  // What the replies of a provider have taught about sessions, messages of a session and rate, and its pause.
  `create table provider_paces (
    provider text not null, source text not null,
    sessions integer, ceiling integer, ceiling_at integer not null,
    messages integer, messages_at integer, rate integer, rate_refused_at integer not null,
    pause_kind text check (pause_kind in ('rate', 'block')), pause_reply text,
    pause_since integer, pause_until integer, pause_probes integer,
    updated_at integer not null, reset integer not null check (reset in (0, 1)), node text not null default '',
    primary key (provider, source, node)) strict, without rowid`,
  // Lists what was learned, the newest first.
  'create index provider_paces_by_change on provider_paces (updated_at) where reset = 0',
  // Finds what the operator has asked to forget.
  'create index reset_provider_paces on provider_paces (node, provider, source) where reset = 1',

  // How far the warm-up of a new source address or domain has come at each provider.
  `create table warm_ups (
    workspace_id text not null, subject text not null, provider text not null,
    step integer not null, day integer not null,
    sent integer not null, deferred integer not null, reserved integer not null,
    ended integer not null check (ended in (0, 1)), revision integer not null, updated_at integer not null,
    primary key (workspace_id, subject, provider)) strict, without rowid`,
] as const

const transportSecurity = [
  // MTA-STS policies of the domains of recipients (RFC 8461).
  `create table sts_policies (
    domain text primary key, policy_id text not null,
    mode text not null check (mode in ('enforce', 'testing', 'none')), patterns text not null,
    max_age integer not null, fetched_at integer not null) strict, without rowid`,

  // The policies under which a domain was met on a day, for the report about it (RFC 8460).
  `create table tls_policies (
    day text not null, domain text not null, policy text not null,
    type text not null check (type in ('tlsa', 'sts', 'no-policy-found')), strings text not null, hosts text not null,
    primary key (day, domain, policy)) strict, without rowid`,
  // How many sessions with a domain on a day succeeded under a policy, or failed for one reason.
  `create table tls_results (
    day text not null, domain text not null, policy text not null, result text not null, mx_host text not null,
    receiving_ip text not null, sending_ip text not null, detail text not null, sessions integer not null,
    primary key (day, domain, policy, result, mx_host, receiving_ip, sending_ip)) strict, without rowid`,
  // The report of a day to a domain: where it goes, and whether it is sent.
  `create table tls_reports (
    day text not null, domain text not null,
    state text not null check (state in ('waiting', 'posting', 'sent', 'failed', 'unwanted')),
    due_at integer not null, attempts integer not null, uris text not null, reason text not null,
    settled_at integer, primary key (day, domain)) strict, without rowid`,
  // Finds the reports that are to be sent.
  `create index tls_reports_due on tls_reports (due_at) where state in ('waiting', 'posting')`,
] as const

const breaker = [
  // How many messages of a scope were settled in a quarter of an hour, and how many bounced or drew a complaint.
  `create table breaker_counts (
    workspace_id text not null, scope text not null check (scope in ('workspace', 'domain', 'broadcast')),
    subject text not null, bucket integer not null, settled integer not null, bounced integer not null,
    complained integer not null, slot integer not null default 0,
    primary key (workspace_id, scope, subject, bucket, slot)) strict, without rowid`,
  // Finds the counts that are to be removed for their age.
  'create index breaker_counts_by_age on breaker_counts (bucket)',

  // Scopes that the circuit breaker has warned or holds, and why.
  `create table breaker_states (
    workspace_id text not null, scope text not null check (scope in ('workspace', 'domain', 'broadcast')),
    subject text not null, state text not null check (state in ('warning', 'held')),
    cause text not null check (cause in ('bounces', 'complaints')), since integer not null,
    messages integer not null, failures integer not null, limit_hundredths integer not null, hold_rule text,
    primary key (workspace_id, scope, subject)) strict, without rowid`,
  // Counts and lists the scopes in one state.
  'create index breaker_states_by_state on breaker_states (state, scope)',
] as const

export const delivery = [...paces, ...transportSecurity, ...breaker] as const
