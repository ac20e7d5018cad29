/** Numbers the changes of the tables that caches hold, so that a process drops what another one has changed. */

/** Small tables that change rarely. */
export const followedTables = [
  'acme_certificates',
  'acme_names',
  'api_keys',
  'blocked_addresses',
  'broadcasts',
  'dkim_keys',
  'domains',
  'erasures',
  'exports',
  'forward_rules',
  'hold_rules',
  'imports',
  'members',
  'service_state',
  'suppressions',
  'templates',
  'webhook_replays',
  'webhooks',
  'workspaces',
] as const

/** Acts that are numbered too: `countChange` counts them, or the triggers of `subjectChanges`. */
export const followedSubjects = [
  /** A command has changed something, which may be anything. */
  'commands',
  /** A node asks the others to say how far they have put changes in force. Nothing else follows. */
  'questions',
  /** The check of a domain is due earlier than it was. */
  'domain_checks',
  /** A domain or workspace is deleted, whose mail must not be kept in memory. */
  'dropped_mail',
  /** Entries of the queue are due earlier than they were. */
  'due_mail',
  /** The operator has acted on entries of the queue: what is known of hosts that are down is to be forgotten. */
  'queue_acts',
] as const

type TableName = (typeof followedTables)[number]
export type FollowedTable = TableName | (typeof followedSubjects)[number]

interface Condition {
  /** The column that old and new row have in common. */
  readonly key: string
  readonly condition: string
}

/**
 * Tells an update that matters from one that does not: nothing decides by the time at which a key was used last, by the
 * next check of a domain, or by how far a work or a cursor has come.
 */
export const matters: Partial<Record<TableName, Condition>> = {
  api_keys: { key: 'id', condition: 'new.last_used_at is not distinct from old.last_used_at' },
  broadcasts: { key: 'id', condition: 'new.version is distinct from old.version' },
  domains: {
    key: 'id',
    condition: 'new.next_check_at is not distinct from old.next_check_at or new.status is distinct from old.status',
  },
  exports: { key: 'id', condition: 'new.status is distinct from old.status' },
  hold_rules: { key: 'id', condition: 'new.cursor is not distinct from old.cursor' },
  imports: { key: 'id', condition: 'new.status is distinct from old.status' },
  service_state: { key: 'key', condition: `new.key = 'operator_workspace'` },
  webhook_replays: { key: 'id', condition: 'new.next_seq is not distinct from old.next_seq' },
  webhooks: {
    key: 'id',
    condition: 'new.updated_at is distinct from old.updated_at or new.enabled is distinct from old.enabled',
  },
}

interface SubjectChange extends Partial<Condition> {
  readonly name: string
  readonly event: 'insert' | 'update' | 'delete'
  readonly table: string
  readonly subject: FollowedTable
}

/** Changes of rows that count for a subject. */
export const subjectChanges: readonly SubjectChange[] = [
  {
    ...{ name: 'domain_checks_moved', event: 'update', table: 'domains', subject: 'domain_checks' },
    ...{ key: 'id', condition: 'new.next_check_at < old.next_check_at' },
  },
  { name: 'dropped_mail_of_domain', event: 'delete', table: 'domains', subject: 'dropped_mail' },
  { name: 'dropped_mail_of_workspace', event: 'insert', table: 'erasures', subject: 'dropped_mail' },
]

const count = (subject: FollowedTable): string =>
  `begin update changes set number = number + 1 where table_name = '${subject}'; end`

const withCondition = (condition: string | undefined): string => (condition === undefined ? '' : `when ${condition} `)

const addNumber = (subject: FollowedTable): string =>
  `insert into changes (table_name, number) values ('${subject}', 0)`

function followTable(table: TableName): readonly string[] {
  return [
    addNumber(table),
    // Counts added rows.
    `create trigger ${table}_added after insert on ${table} ${count(table)}`,
    // Counts changed rows.
    `create trigger ${table}_changed after update on ${table} ${withCondition(matters[table]?.condition)}${count(table)}`,
    // Counts removed rows.
    `create trigger ${table}_removed after delete on ${table} ${count(table)}`,
  ]
}

function followSubject({ name, event, table, subject, condition }: SubjectChange): string {
  const begin = `after ${event} on ${table} ${withCondition(condition)}`
  return (
    // Counts a change of rows that tells of such an act.
    `create trigger ${name} ${begin}${count(subject)}`
  )
}

export const changes = [
  // Counts the changes of each table that caches hold, for other processes, which remember the number that they have seen.
  `create table changes (
    table_name text not null, number integer not null, slot integer not null default 0,
    primary key (table_name, slot)) strict, without rowid`,
  // Counts a change in the commit that makes it, whichever statement that is.
  ...followedTables.flatMap((table) => followTable(table)),
  ...followedSubjects.map((subject) => addNumber(subject)),
  ...subjectChanges.map((change) => followSubject(change)),
] as const
