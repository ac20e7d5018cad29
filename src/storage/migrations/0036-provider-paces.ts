/** What the replies of providers have taught about sessions, messages a session and rate, and their pauses. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table provider_paces (
    provider text not null, source text not null,
    sessions integer, ceiling integer, ceiling_at integer not null,
    messages integer, messages_at integer, rate real, rate_refused_at integer not null,
    pause_kind text check (pause_kind in ('rate', 'block')), pause_reply text,
    pause_since integer, pause_until integer, pause_probes integer,
    updated_at integer not null, reset integer not null check (reset in (0, 1)),
    primary key (provider, source)) strict, without rowid`,
  'create index provider_paces_by_change on provider_paces (updated_at) where reset = 0',
  'create index reset_provider_paces on provider_paces (provider, source) where reset = 1',
])
