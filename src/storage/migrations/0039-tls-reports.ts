/** What sessions with MX hosts said about TLS, by day and domain, and the reports about it (RFC 8460). */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table tls_policies (
    day text not null, domain text not null, policy text not null,
    type text not null check (type in ('tlsa', 'sts', 'no-policy-found')), strings text not null, hosts text not null,
    primary key (day, domain, policy)) strict, without rowid`,
  `create table tls_results (
    day text not null, domain text not null, policy text not null, result text not null, mx_host text not null,
    receiving_ip text not null, sending_ip text not null, detail text not null, sessions integer not null,
    primary key (day, domain, policy, result, mx_host, receiving_ip, sending_ip)) strict, without rowid`,
  `create table tls_reports (
    day text not null, domain text not null,
    state text not null check (state in ('waiting', 'posting', 'sent', 'failed', 'unwanted')),
    due_at integer not null, attempts integer not null, uris text not null, reason text not null,
    settled_at integer, primary key (day, domain)) strict, without rowid`,
  `create index tls_reports_due on tls_reports (due_at) where state in ('waiting', 'posting')`,
])
