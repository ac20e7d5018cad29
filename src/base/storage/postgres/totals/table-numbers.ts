/** Numbers the changes of the tables that caches hold, for each statement; it counts the rows, as row by row does. */
import { type FollowedTable, followedTables, matters, subjectChanges } from '../../schema/changes.js'
import { createStatementTrigger, type Totals } from './statement-triggers.js'

/** A statement that changes no row that matters leaves the number. */
const countRows = (table: FollowedTable, rows: string): string =>
  `insert into changes (table_name, number) select '${table}', count(*) from ${rows} having count(*) > 0
     on conflict (table_name, slot) do update set number = changes.number + excluded.number;`

interface Rule {
  readonly key?: string
  readonly condition?: string
}

/** The rows of the tables of a statement's trigger that fulfil the condition. */
function rowsOf(event: 'insert' | 'update' | 'delete', { key, condition }: Rule): string {
  const tables = { insert: 'added as new_row', update: 'new_rows as new_row', delete: 'removed as old_row' } as const
  if (condition === undefined) return tables[event]
  const words = condition.replaceAll('new.', 'new_row.').replaceAll('old.', 'old_row.')
  const joined = event === 'update' ? `old_rows as old_row join new_rows as new_row using (${key})` : tables[event]
  return `${joined} where ${words}`
}

function numberTable(table: (typeof followedTables)[number]): readonly string[] {
  const events = [
    { name: `${table}_added`, event: 'insert', rows: rowsOf('insert', {}) },
    { name: `${table}_changed`, event: 'update', rows: rowsOf('update', matters[table] ?? {}) },
    { name: `${table}_removed`, event: 'delete', rows: rowsOf('delete', {}) },
  ] as const
  return events.flatMap(({ name, event, rows }) =>
    createStatementTrigger({ name, event, table, body: countRows(table, rows) }),
  )
}

const numberSubject = ({ name, event, table, subject, ...rule }: (typeof subjectChanges)[number]): readonly string[] =>
  createStatementTrigger({ name, event, table, body: countRows(subject, rowsOf(event, rule)) })

export const tableNumbers: Totals = {
  replaces: [
    ...followedTables.flatMap((table) => ['added', 'changed', 'removed'].map((on) => `${table}_${on}`)),
    ...subjectChanges.map(({ name }) => name),
  ],
  statements: [...followedTables.flatMap(numberTable), ...subjectChanges.flatMap(numberSubject)],
}
