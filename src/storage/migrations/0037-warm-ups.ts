/** How far the warm-up of each new source address and domain has come at each provider. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table warm_ups (
    workspace_id text not null, subject text not null, provider text not null,
    step integer not null, day integer not null,
    sent integer not null, deferred integer not null, reserved integer not null,
    ended integer not null check (ended in (0, 1)), revision integer not null, updated_at integer not null,
    primary key (workspace_id, subject, provider)) strict, without rowid`,
])
