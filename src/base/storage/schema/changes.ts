/** Numbers the changes of the tables that caches hold, so that a process drops what another one has changed. */

/** Small tables that change rarely. */
export const followedTables = [
  'acme_certificates',
  'acme_names',
  'api_keys',
  'blocked_addresses',
  'dkim_keys',
  'domains',
  'forward_rules',
  'members',
  'service_state',
  'suppressions',
  'templates',
  'workspaces',
] as const

export type FollowedTable = (typeof followedTables)[number]

/**
 * Tells an update that matters from one that does not: nothing decides by the time at which a key was used last, or by
 * the next check of a domain. `key` is what old and new row have in common.
 */
export const matters: Partial<Record<FollowedTable, { readonly key: string; readonly condition: string }>> = {
  api_keys: { key: 'id', condition: 'new.last_used_at is not distinct from old.last_used_at' },
  domains: { key: 'id', condition: 'new.next_check_at is not distinct from old.next_check_at' },
  service_state: { key: 'key', condition: `new.key = 'operator_workspace'` },
}

function followTable(table: FollowedTable): readonly string[] {
  const count = `begin update changes set number = number + 1 where table_name = '${table}'; end`
  const condition = matters[table] === undefined ? '' : `when ${matters[table].condition} `
  return [
    `insert into changes (table_name, number) values ('${table}', 0)`,
    // Counts added rows.
    `create trigger ${table}_added after insert on ${table} ${count}`,
    // Counts changed rows.
    `create trigger ${table}_changed after update on ${table} ${condition}${count}`,
    // Counts removed rows.
    `create trigger ${table}_removed after delete on ${table} ${count}`,
  ]
}

export const changes = [
  // Counts the changes of each table that caches hold, for other processes, which remember the number that they have seen.
  `create table changes (
    table_name text not null, number integer not null, slot integer not null default 0,
    primary key (table_name, slot)) strict, without rowid`,
  // Counts a change in the commit that makes it, whichever statement that is.
  ...followedTables.flatMap((table) => followTable(table)),
] as const
