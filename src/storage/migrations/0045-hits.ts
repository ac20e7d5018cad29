/**
 * Opens and clicks are inserted into the view `hits`, whose trigger adds each to the event log and counts it.
 *
 * A trigger of `events` that counted them cost 4 µs for each event of any type: before a statement with a trigger changes a page,
 * SQLite copies that page, to be able to undo this one statement, even if the trigger's condition is false.
 */
import { runStatements } from '../migrate.js'
import { countedHit } from './0024-metrics.js'

const columns = ['id', 'workspace_id', 'type', 'email_id', 'recipient', 'created_at', 'data'] as const

export const up = runStatements([
  'drop trigger email_metrics_hit',
  `create view hits as select ${columns.join(', ')} from events where type in ('email.opened', 'email.clicked')`,
  `create trigger hits_come instead of insert on hits begin
    insert into events (${columns.join(', ')}) values (${columns.map((column) => `new.${column}`).join(', ')});
    ${countedHit}
  end`,
])
