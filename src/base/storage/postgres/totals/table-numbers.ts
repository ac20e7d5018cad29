/** Numbers the changes of the tables that caches hold, for each statement; it counts the rows, as row by row does. */
import { type FollowedTable, followedTables, matters } from '../../schema/changes.js'
import { createStatementTrigger, type Totals } from './statement-triggers.js'

/** A statement that changes no row that matters leaves the number. */
const countRows = (table: FollowedTable, rows: string): string =>
  `insert into changes (table_name, number) select '${table}', count(*) from ${rows} having count(*) > 0
     on conflict (table_name, slot) do update set number = changes.number + excluded.number;`

function changedRows(table: FollowedTable): string {
  const rule = matters[table]
  if (rule === undefined) return 'new_rows'
  const condition = rule.condition.replaceAll('new.', 'new_row.').replaceAll('old.', 'old_row.')
  return `old_rows as old_row join new_rows as new_row using (${rule.key}) where ${condition}`
}

function numberTable(table: FollowedTable): readonly string[] {
  const events = [
    { name: `${table}_added`, event: 'insert', rows: 'added' },
    { name: `${table}_changed`, event: 'update', rows: changedRows(table) },
    { name: `${table}_removed`, event: 'delete', rows: 'removed' },
  ] as const
  return events.flatMap(({ name, event, rows }) =>
    createStatementTrigger({ name, event, table, body: countRows(table, rows) }),
  )
}

export const tableNumbers: Totals = {
  replaces: followedTables.flatMap((table) => ['added', 'changed', 'removed'].map((on) => `${table}_${on}`)),
  statements: followedTables.flatMap(numberTable),
}
