/**
 * The slots of the event log: see `storage/schema/events.ts`. SQLite has the slot 0 alone.
 *
 * An event becomes visible in the order of `seq` within its slot. So a reader that must miss none has a cursor for each
 * slot, or reads up to `readLastSettled`.
 */
import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { EventsTable } from '../tables/email-tables.js'
import { pickByEngine } from './engine.js'
import { type PreparedRead, prepareRead, type Read } from './prepared.js'

/** The slots that have events of which `condition` is true. It walks over the slots, not over the events. */
export function prepareSlotsWith(condition: RawBuilder<boolean>): PreparedRead<object, { slot: number }[]> {
  return prepareRead<object>()(({ db }) => db.selectFrom(selectSlots(condition).as('known')).select('slot'))
}

export const slotsWithEvents = prepareSlotsWith(sql<boolean>`true`)

function selectSlots(condition: RawBuilder<boolean>): RawBuilder<{ slot: number }> {
  return pickByEngine({
    sqlite: sql<{ slot: number }>`(select 0 as slot)`,
    postgres: sql<{ slot: number }>`(with recursive known (slot) as (
        (select slot from events where ${condition} order by slot limit 1)
        union all select (select later.slot from events as later where later.slot > known.slot and ${condition}
          order by later.slot limit 1) from known where known.slot is not null)
      select slot from known where slot is not null order by slot)`,
  })
}

/** The fields of the next events of a workspace in the order of `seq`, of all slots: at most `limit` of each. */
export function selectNextInSlots(
  fields: readonly (keyof EventsTable)[],
  { workspaceId, seq, limit }: { readonly workspaceId: string; readonly seq: number; readonly limit: number },
): RawBuilder<Pick<Selectable<EventsTable>, (typeof fields)[number]>> {
  const ofWorkspace = sql<boolean>`workspace_id = ${workspaceId}`
  const next = (condition: RawBuilder<boolean>) => sql`(select ${sql.join(fields.map((name) => sql.ref(name)))} from events
    where ${ofWorkspace} and ${condition} and seq > ${seq} order by seq limit ${limit})`
  return pickByEngine({
    sqlite: sql<Selectable<EventsTable>>`${next(sql<boolean>`true`)}`,
    postgres: sql<Selectable<EventsTable>>`(select next_ones.* from ${selectSlots(ofWorkspace)} as known
      cross join lateral ${next(sql<boolean>`events.slot = known.slot`)} as next_ones)`,
  })
}

const newestInSlot = prepareRead<{ slot: number }>()(({ db, slot }) =>
  db.selectFrom('events').select('seq').where('slot', '=', slot('slot')).orderBy('seq', 'desc').limit(1),
)

/** The `seq` of the newest event of a slot, or 0 if it has none. */
export async function readNewestInSlot(read: Read, slot: number): Promise<number> {
  return (await newestInSlot(read, { slot }))[0]?.seq ?? 0
}

/**
 * A daemon that has died counts for so many seconds. By then others have taken its place, and have seen to it that its last
 * batch is visible or void.
 */
const MAX_SILENCE = 60

const settled = prepareRead<object>()(({ db }) =>
  db.selectNoFrom(() =>
    sql<number | null>`(select case when count(*) > 1 then min(events_before) end from fence
      where beat > now() - ${sql.lit(MAX_SILENCE)} * interval '1 second')`.as('seq'),
  ),
)

/**
 * Every event up to this `seq` is visible, if it will ever be: each batch of a writer notes which numbers were given before
 * it. It is infinite where there is one writer, whose events become visible in their order.
 *
 * Limit: an event of a command, which has no such note, may become visible some milliseconds late.
 */
export async function readLastSettled(read: Read): Promise<number> {
  const everything = Number.POSITIVE_INFINITY
  return pickByEngine({
    sqlite: async () => everything,
    postgres: async () => (await settled(read, {}))[0]?.seq ?? everything,
  })()
}
