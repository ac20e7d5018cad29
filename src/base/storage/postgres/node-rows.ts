/**
 * The rows by which the nodes on a database know of each other: who works, since when it was silent, who has adopted whom,
 * and who leads.
 *
 * All times are those of the server's clock. A node that is silent for `ADOPTION_AFTER` seconds may be adopted by
 * another: that one raises the epochs of the node's writers, so nothing that the node writes afterwards is accepted.
 */
import type { WorkState } from '../db/node-state.js'
import type { Read } from '../db/prepared.js'
import type { Write } from '../db/write.js'

/** Seconds without a beat after which a node counts as silent: it begins nothing new by then. */
export const LEASE_TIME = 10
/** Seconds without a beat after which others may adopt a node. */
export const ADOPTION_AFTER = 30

export const nodeTables = [
  `create table nodes (
    name text collate "C" primary key, state text collate "C" not null check (state in ('working', 'draining', 'drained')),
    version text collate "C" not null, joined_at timestamptz not null, adopted_by text collate "C", adopted_at timestamptz)`,
  // The node that does what one node does for all.
  `create table terms (work text collate "C" primary key, node text collate "C" not null, term bigint not null)`,
]

export interface NodeRow {
  readonly name: string
  readonly state: WorkState
  readonly version: string
  /** Epoch milliseconds. */
  readonly joined_at: number
  readonly last_beat: number
  /** Seconds since the last beat. */
  readonly silence: number
  /** 0 if the daemon has ended in good order, or was adopted. */
  readonly is_held: number
  readonly adopted_by: string | null
  readonly adopted_at: number | null
  readonly leads: number
  /** The slot of its first writer. */
  readonly slot: number
  /** The slots of all that it has written, with commas. */
  readonly slots: string
}

const milliseconds = (time: string): string => `floor(extract(epoch from ${time}) * 1000)::bigint`

const allNodes = `select nodes.name, nodes.state, nodes.version, ${milliseconds('nodes.joined_at')} as joined_at,
  ${milliseconds('fence.beat')} as last_beat, extract(epoch from clock_timestamp() - fence.beat)::float8 as silence,
  (fence.holder <> '')::integer as is_held, nodes.adopted_by, ${milliseconds('nodes.adopted_at')} as adopted_at,
  (exists (select 1 from terms where terms.node = nodes.name))::integer as leads, fence.slot,
  (select string_agg(own.slot::text, ',' order by own.slot) from fence as own where own.node = nodes.name) as slots
  from nodes join fence on fence.node = nodes.name and fence.place = 0 order by nodes.name`

export function readNodes(read: Read): Promise<readonly NodeRow[]> {
  return Promise.resolve(read<NodeRow>(allNodes, []))
}

export function isLiving({ is_held: isHeld, silence }: Pick<NodeRow, 'is_held' | 'silence'>): boolean {
  return isHeld === 1 && silence < LEASE_TIME
}

/** A node begins to work: what is left of its rows is its own again. */
export function join(name: string, version: string): Write {
  return {
    sql: `insert into nodes (name, state, version, joined_at) values ($1, 'working', $2, now()) on conflict (name) do update
      set state = 'working', version = excluded.version, joined_at = now(), adopted_by = null, adopted_at = null`,
    parameters: [name, version],
  }
}

/** The node has given all that it has to others. Misses if it works again. */
export function noteDrained(name: string): Write {
  return {
    sql: `update nodes set state = 'drained' where name = $1 and state = 'draining'`,
    parameters: [name],
    rows: 1,
  }
}

/**
 * Takes over what a silent node has. It waits for a batch of that node which is under way, and misses if the node turns out
 * to live, or if another one was faster.
 */
export function adoptSilent(name: string, by: string): readonly Write[] {
  const stop = `update fence set epoch = epoch + 1, holder = '', beat = 'epoch' where node = $1 and place`
  return [
    noteAdoption(name, by, 'true'),
    { sql: `${stop} = 0 and beat < now() - interval '${ADOPTION_AFTER} seconds'`, parameters: [name], rows: 1 },
    { sql: `${stop} > 0`, parameters: [name] },
    ...inherit(name, by),
  ]
}

/** Takes over what a drained node has, which may still live. Misses if it works again, or if another node was faster. */
export function adoptDrained(name: string, by: string): readonly Write[] {
  return [noteAdoption(name, by, `state = 'drained'`), ...inherit(name, by)]
}

function noteAdoption(name: string, by: string, condition: string): Write {
  return {
    sql: `update nodes set adopted_by = $2, adopted_at = now() where name = $1 and adopted_by is null and ${condition}`,
    parameters: [name, by],
    rows: 1,
  }
}

/** What the node had adopted itself, and its work for all. */
function inherit(name: string, by: string): readonly Write[] {
  return [
    { sql: 'update nodes set adopted_by = $2 where adopted_by = $1', parameters: [name, by] },
    { sql: 'update terms set node = $2, term = term + 1 where node = $1', parameters: [name, by] },
  ]
}

/** Begins to lead if no node does. */
export function beginToLead(name: string): Write {
  return {
    sql: `insert into terms (work, node, term) values ('all', $1, 1) on conflict (work) do nothing`,
    parameters: [name],
  }
}

export function ceaseToLead(name: string): Write {
  return { sql: 'delete from terms where node = $1', parameters: [name] }
}

/** Rows that one node works on. They bear its name in the column `node`. */
const ownedTables = ['queue', 'inbound_emails', 'webhook_deliveries', 'webhook_replays'] as const

/** The condition holds for rows that are still to be worked on. */
const isOpen = {
  queue: 'true',
  inbound_emails: `status = 'received'`,
  webhook_deliveries: `status = 'pending'`,
  webhook_replays: 'true',
} as const

/** Places of slots that a removed node has left, above those of writers. */
export const GIVEN_PLACES = 1_000_000

/** Rows of one portion, which takes the server a few milliseconds. */
const PORTION = 500

/** Rows whose work a process had begun when it ended are due as after a crash: see `recoverLeases`. */
const more = {
  inbound_emails: '',
  webhook_deliveries: '',
  webhook_replays: '',
  queue: `, leased = 0, next_attempt_at = case leased when 1 then $3::bigint + (attempts - 1) * 30000 else next_attempt_at end`,
} as const

/** Commands are of no node: the one that leads takes over what they have written. */
export const OF_COMMANDS = ''

const leftRows = `select ${ownedTables
  .map((table) => `exists (select 1 from ${table} where node = $1 and ${isOpen[table]})`)
  .join(' or ')} as has_rows`

/** Tells if a node has left rows. */
export async function hasLeftRows(read: Read, source: string): Promise<boolean> {
  const [row] = await read<{ has_rows: number }>(leftRows, [source])
  return row?.has_rows === 1
}

/**
 * Takes over a portion of the rows of each table. It misses if the node works again: that waits until the portion has moved,
 * and a portion that comes later finds it.
 */
export function moveRows(source: string, name: string, now: number): readonly Write[] {
  const mayTake =
    source === OF_COMMANDS
      ? 'select 1 from terms where node = $1 for share'
      : 'select 1 from nodes where adopted_by = $1 and name = $2 for share'
  const moves = ownedTables.map((table) => ({
    sql: `update ${table} set node = $1${more[table]}
      where id in (select id from ${table} where node = $2 and ${isOpen[table]} limit ${PORTION})`,
    parameters: table === 'queue' ? [name, source, now] : [name, source],
  }))
  const parameters = source === OF_COMMANDS ? [name] : [name, source]
  return [{ sql: `select 1 / (count(*))::integer from (${mayTake}) as held`, parameters }, ...moves]
}

/** The node moves what it has to others, and another one leads. Misses if it drains already. */
export function askToDrain(name: string): readonly Write[] {
  const sql = `update nodes set state = 'draining' where name = $1 and state = 'working'`
  return [{ sql, parameters: [name], rows: 1 }, ceaseToLead(name)]
}

/** Waits for no batch of the node: it fails while one is under way. */
export const probeFence = 'select 1 from fence where node = $1 for update nowait'

/**
 * Forgets a node that another has adopted, and what it alone stores. Its slots, whose events may still be on their way,
 * become that one's. Misses if it has come back, or still has rows.
 */
export function forgetNode(name: string): readonly Write[] {
  const isEmpty = ownedTables
    .map((table) => `not exists (select 1 from ${table} where node = $1 and ${isOpen[table]})`)
    .join(' and ')
  return [
    {
      sql: `update fence set node = nodes.adopted_by, place = ${GIVEN_PLACES} + slot, holder = '', beat = 'epoch'
        from nodes where nodes.name = fence.node and nodes.name = $1 and nodes.adopted_by is not null`,
      parameters: [name],
    },
    {
      sql: `delete from nodes where name = $1 and adopted_by is not null and ${isEmpty}
        and exists (select 1 from fence where place = ${GIVEN_PLACES} + slot)`,
      parameters: [name],
      rows: 1,
    },
    { sql: 'delete from doctor_findings where node = $1', parameters: [name] },
    // See `nodeKeyOf`.
    { sql: `delete from service_state where right(key, length($1) + 1) = '@' || $1`, parameters: [name] },
  ]
}

/** Queue entries by node. */
export async function countOwnedEntries(read: Read): Promise<ReadonlyMap<string, number>> {
  const rows = await read<{ node: string; entries: number }>(
    'select node, count(*) as entries from queue group by node',
    [],
  )
  return new Map(rows.map(({ node, entries }) => [node, entries]))
}
