/** The browsers in which users have signed in, so that a sign-in from another one is reported to the user. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table known_browsers (
    user_id text not null, token_hash text not null, last_used_at integer not null,
    primary key (user_id, token_hash)) strict, without rowid`,
  'create index known_browsers_by_age on known_browsers (last_used_at)',
  `create trigger users_forget_browsers after delete on users begin
    delete from known_browsers where user_id = old.id;
  end`,
])
