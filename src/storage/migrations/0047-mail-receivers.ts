/** To whom each domain has sent mail: reports about it from others are not counted. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table mail_receivers (
    workspace_id text not null, domain text not null, receiver text not null, noted_at integer not null,
    primary key (workspace_id, domain, receiver)) strict, without rowid`,
  'create index mail_receivers_by_age on mail_receivers (noted_at)',
])
