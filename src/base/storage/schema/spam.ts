/** Holds the tables of what the spam classifier of each workspace has learned. */

export const spam = [
  // Counts in how many messages of each verdict a token was.
  `create table bayes_tokens (
    workspace_id text not null, token integer not null, spam integer not null, ham integer not null,
    since integer not null, last_learned integer not null,
    primary key (workspace_id, token)) strict, without rowid`,
  // Finds the tokens that are worth least, which are forgotten first.
  'create index bayes_tokens_by_worth on bayes_tokens (workspace_id, (last_learned + 30 * (spam + ham)))',

  // How many messages of each verdict were learned.
  `create table bayes_messages (
    workspace_id text not null, verdict text not null check (verdict in ('spam', 'ham')), count integer not null,
    primary key (workspace_id, verdict)) strict, without rowid`,

  // Each learned message with its verdict and tokens, so that it can be unlearned; `dated_on` is the day of the mail.
  `create table bayes_learned (
    seq integer primary key autoincrement, workspace_id text not null, fingerprint text not null,
    verdict text not null check (verdict in ('spam', 'ham')), tokens blob not null, learned_at integer not null,
    dated_on integer not null default 0,
    unique (workspace_id, fingerprint)) strict`,
  // Finds the messages that were learned first.
  'create index bayes_learned_of_workspace on bayes_learned (workspace_id, seq)',

  // How many tokens a workspace has.
  `create table bayes_counts (
    workspace_id text not null, tokens integer not null, slot integer not null default 0,
    primary key (workspace_id, slot)) strict, without rowid`,
  // Counts a new token.
  `create trigger bayes_tokens_counted after insert on bayes_tokens begin
    insert into bayes_counts (workspace_id, tokens) values (new.workspace_id, 1)
      on conflict (workspace_id, slot) do update set tokens = tokens + 1;
  end`,
  // Subtracts a token that is forgotten.
  `create trigger bayes_tokens_uncounted after delete on bayes_tokens begin
    update bayes_counts set tokens = tokens - 1 where workspace_id = old.workspace_id;
  end`,

  // How many messages of each day's mail were learned.
  `create table bayes_days (
    workspace_id text not null, day integer not null, spam integer not null, ham integer not null,
    primary key (workspace_id, day)) strict, without rowid`,
] as const
