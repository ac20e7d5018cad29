/**
 * Folds the totals of removed nodes: their rows become part of those of the node that does this, so that totals do not
 * have rows of every node that there ever was.
 *
 * Nothing is written any more in the slots of a removed node. A portion moves in one statement, so a reader who adds up the
 * rows of all slots finds the same sum before and after, whatever others add meanwhile.
 */
import type { Store } from '../db/database.js'
import { pickByEngine } from '../db/engine.js'
import { GIVEN_PLACES } from './node-rows.js'

/** The tables of totals, and the columns that name what a row counts. */
export const totalsBySlot: Readonly<Record<string, readonly string[]>> = {
  breaker_counts: ['workspace_id', 'scope', 'subject', 'bucket'],
  broadcast_counts: ['broadcast_id'],
  bayes_counts: ['workspace_id'],
  cached_file_totals: ['workspace_id'],
  contact_counts: ['workspace_id', 'list'],
  email_counts: ['workspace_id', 'status'],
  email_metrics: ['workspace_id', 'domain', 'tag', 'bucket'],
  greylist_totals: ['kind'],
  inbound_totals: ['workspace_id'],
  link_metrics: ['workspace_id', 'domain', 'day', 'url'],
  usage: ['workspace_id', 'kind', 'bucket'],
}

/** Columns that are not added up. */
const extremes: Readonly<Record<string, 'least' | 'greatest'>> = {
  first_clicked_at: 'least',
  last_clicked_at: 'greatest',
}

const PORTION = 500

const slotsOfRemoved = `select slot from fence where place >= ${GIVEN_PLACES} and not folded order by slot limit 1`
const noteFolded = 'update fence set folded = true where slot = $1'
const columnsOfTable = `select column_name as name, data_type as type from information_schema.columns
  where table_schema = current_schema() and table_name = $1 order by ordinal_position`

interface Column {
  readonly name: string
  readonly type: string
}

type Key = readonly unknown[]

export class TotalsFold {
  constructor(
    private readonly store: Store,
    private readonly portion = PORTION,
  ) {}

  /** Folds the rows of one slot. Resolves to whether there may be more slots. */
  async step(): Promise<boolean> {
    const isServer = pickByEngine({ sqlite: false, postgres: true })
    const [found] = isServer ? await this.store.read<{ slot: number }>(slotsOfRemoved, []) : []
    if (found === undefined) return false
    for (const [table, key] of Object.entries(totalsBySlot)) await this.foldTable(table, key, found.slot)
    await this.store.commit([{ sql: noteFolded, parameters: [found.slot] }])
    return true
  }

  private async foldTable(table: string, key: readonly string[], slot: number): Promise<void> {
    const { read, commit } = this.store
    const columns = (await read<Column>(columnsOfTable, [table])).filter(({ name }) => name !== 'slot')
    for (let start: Key = []; ; ) {
      const range = rangeOf(key, start)
      const rows = await read<Record<string, unknown>>(
        `select ${key.join(', ')} from ${table} where ${range} order by ${key.join(', ')} limit ${this.portion}`,
        [slot, ...start],
      )
      const last = rows.at(-1)
      if (last === undefined) return
      const end = key.map((name) => last[name])
      await commit([{ sql: foldRange({ table, key, columns, start }), parameters: [slot, ...start, ...end] }])
      start = end
    }
  }
}

/** The rows of a slot behind `start`, or all if it is empty. */
const rangeOf = (key: readonly string[], start: Key): string =>
  start.length === 0 ? 'slot = $1' : `slot = $1 and (${key.join(', ')}) > (${toPlaces(key, 2)})`

const toPlaces = (key: readonly string[], first: number): string => key.map((_, at) => `$${at + first}`).join(', ')

interface Folded {
  readonly table: string
  readonly key: readonly string[]
  readonly columns: readonly Column[]
  readonly start: Key
}

/** Moves the rows behind `start` up to another key. The schema fills the slot of this writer in. */
function foldRange({ table, key, columns, start }: Folded): string {
  const names = columns.map(({ name }) => name).join(', ')
  const sets = columns
    .filter(({ name, type }) => !key.includes(name) && type === 'bigint')
    .map(({ name }) => {
      const extreme = extremes[name]
      const [own, other] = [`${table}.${name}`, `excluded.${name}`]
      return `${name} = ${extreme === undefined ? `${own} + ${other}` : `${extreme}(${own}, ${other})`}`
    })
  return `with moved as (delete from ${table}
      where ${rangeOf(key, start)} and (${key.join(', ')}) <= (${toPlaces(key, start.length + 2)}) returning *)
    insert into ${table} (${names}) select ${names} from moved order by ${key.join(', ')}
    on conflict (${key.join(', ')}, slot) do update set ${sets.join(', ')}`
}
