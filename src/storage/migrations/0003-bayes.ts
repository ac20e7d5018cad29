/**
 * What the spam classifier has learned: counts of tokens and messages of each workspace, and each learned
 * message with its verdict. Tokens are expired in the order of the index by worth.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table bayes_tokens (
    workspace_id text not null, token integer not null, spam integer not null, ham integer not null,
    since integer not null, last_learned integer not null,
    primary key (workspace_id, token)) strict, without rowid`,
  'create index bayes_tokens_by_worth on bayes_tokens (workspace_id, last_learned + 30 * (spam + ham))',
  `create table bayes_messages (
    workspace_id text not null, verdict text not null check (verdict in ('spam', 'ham')), count integer not null,
    primary key (workspace_id, verdict)) strict, without rowid`,
  `create table bayes_learned (
    seq integer primary key autoincrement, workspace_id text not null, fingerprint text not null,
    verdict text not null check (verdict in ('spam', 'ham')), tokens blob not null, learned_at integer not null,
    unique (workspace_id, fingerprint)) strict`,
  'create index bayes_learned_of_workspace on bayes_learned (workspace_id, seq)',
])
