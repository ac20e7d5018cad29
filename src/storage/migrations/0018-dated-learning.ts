/**
 * How many messages of each day's mail the classifier has learned, and the day of each. For messages learned
 * before, only the time of learning is known: it stands for the date.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'alter table bayes_learned add column dated_on integer not null default 0',
  'update bayes_learned set dated_on = learned_at / 86400000',
  `create table bayes_days (
    workspace_id text not null, day integer not null, spam integer not null, ham integer not null,
    primary key (workspace_id, day)) strict, without rowid`,
  `insert into bayes_days (workspace_id, day, spam, ham)
    select workspace_id, dated_on, sum(verdict = 'spam'), sum(verdict = 'ham')
    from bayes_learned group by workspace_id, dated_on`,
])
