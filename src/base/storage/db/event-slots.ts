/**
 * The slots of the event log: see `storage/schema/events.ts`. SQLite has the slot 0 alone.
 *
 * An event becomes visible in the order of `seq` within its slot. So a reader that must miss none has a cursor for each
 * slot, or reads up to `readLastSettled`.
 */
import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { EventsTable } from '../tables/email-tables.js'
import { pickByEngine } from './engine.js'
import { LONE_SLOT } from './node-state.js'
import { prepareRead, type Read } from './prepared.js'

/** Reads slots. There are few. */
type ReadSlots = (read: Read) => Promise<readonly number[]>

/** Prepares a read of the slots that have events of which `condition` is true. It walks over slots, not over events. */
export function prepareSlotsWith(condition: RawBuilder<boolean>): ReadSlots {
  const slots = prepareRead<object>()(({ db }) => db.selectFrom(selectSlots(condition).as('known')).select('slot'))
  const readAll: ReadSlots = async (read) => (await slots(read, {})).map(({ slot }) => slot)
  return (read) => pickByEngine<ReadSlots>({ sqlite: async () => [LONE_SLOT], postgres: readAll })(read)
}

export const readSlots = prepareSlotsWith(sql<boolean>`true`)

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

interface NextEvents {
  readonly workspaceId: string
  readonly seq: number
  readonly limit: number
}

/**
 * Stands for the table of events in a query for the next `limit` events of a workspace behind `seq`, of all slots. It has
 * those of each slot, which an index gives in their order.
 */
export function eventsOfAllSlots({ workspaceId, seq, limit }: NextEvents): RawBuilder<Selectable<EventsTable>> {
  const ofWorkspace = sql<boolean>`workspace_id = ${workspaceId}`
  return pickByEngine({
    sqlite: sql<Selectable<EventsTable>>`events`,
    postgres: sql<
      Selectable<EventsTable>
    >`(select of_slot.* from ${selectSlots(ofWorkspace)} as known cross join lateral
      (select * from events where ${ofWorkspace} and events.slot = known.slot and seq > ${seq} order by seq limit ${limit})
        as of_slot)`,
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
    pickByEngine({
      sqlite: sql<number | null>`null`,
      postgres: sql<number | null>`(select case when count(*) > 1 then min(events_before) end from fence
        where holder <> '' and beat > now() - ${sql.lit(MAX_SILENCE)} * interval '1 second')`,
    }).as('seq'),
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
