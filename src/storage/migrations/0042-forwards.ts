/** Forwarding rules, the addresses that agreed to get forwarded mail, and what became of each forwarded message. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table forward_rules (
    id text primary key, workspace_id text not null, domain_id text not null, local_part text not null,
    targets text not null, webhook_id text, keep integer not null, enabled integer not null,
    created_at integer not null) strict, without rowid`,
  'create unique index forward_rules_of_domain on forward_rules (workspace_id, domain_id, local_part)',
  `create table forward_targets (
    workspace_id text not null, address_key text not null, id text not null, address text not null,
    requested_at integer not null, requests integer not null, confirmed_at integer,
    primary key (workspace_id, address_key)) strict, without rowid`,
  'create unique index forward_targets_by_id on forward_targets (id)',
  `create table inbound_forwards (
    workspace_id text not null, inbound_id text not null, target text not null, rule_id text not null,
    status text not null check (status in ('forwarded', 'not-forwarded')), reason text,
    email_id text, created_at integer not null,
    primary key (workspace_id, inbound_id, target)) strict, without rowid`,
])
