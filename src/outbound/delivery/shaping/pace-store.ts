/**
 * Stores on disk what replies have taught about the paces of providers.
 *
 * Paces use a steady clock; the rows have epoch milliseconds. `offset` is the difference between the two. A row that
 * the operator has reset is marked, so that the daemon forgets its pace before the row is removed.
 */
import { type Selectable, sql } from 'kysely'
import { isInJsonList } from '../../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Json } from '../../../base/storage/tables/columns.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import type { PaceId, PaceState, Pause } from './pace-state.js'
import { MAX_PAUSE } from './pause.js'

/** The most rows, and the most paces in memory. */
export const MAX_PACES = 10_000

export type PaceRow = Omit<Selectable<Tables['provider_paces']>, 'node'>

const columns = [
  'provider',
  'source',
  'sessions',
  'ceiling',
  'ceiling_at',
  'messages',
  'messages_at',
  'rate',
  'rate_refused_at',
  'pause_kind',
  'pause_reply',
  'pause_since',
  'pause_until',
  'pause_probes',
  'updated_at',
  'reset',
] as const satisfies readonly (keyof PaceRow)[]

/** Reads the rows of all nodes that changed last first, without those that were reset. */
export const pacesByChange = prepareRead<{ limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('provider_paces')
    .select(columns)
    .where('reset', '=', sql.lit(0))
    .orderBy('updated_at', 'desc')
    .limit(slot('limit')),
)

/** Reads those of the providers alone, in no order. */
export const pacesOfProviders = prepareRead<{ providers: Json<readonly string[]>; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('provider_paces')
    .select(columns)
    .where('reset', '=', sql.lit(0))
    .where(isInJsonList('provider', slot('providers')))
    .limit(slot('limit')),
)

/** They are those of this node, which alone knows that it has forgotten them. */
export const resetPaces = prepareRead<{ node: string }>()(({ db, slot }) =>
  db
    .selectFrom('provider_paces')
    .select(['provider', 'source'])
    .where('node', '=', slot('node'))
    .where('reset', '=', sql.lit(1))
    .limit(MAX_PACES),
)

/** Marks the rows of a provider. The daemon forgets their paces when it notices. */
export const resetProvider = prepareWrite<{ provider: string }>(({ db, slot }) =>
  db.updateTable('provider_paces').set({ reset: 1 }).where('provider', '=', slot('provider')),
)

export const removePace = prepareWrite<PaceId & { readonly node: string }>(({ db, slot }) =>
  db
    .deleteFrom('provider_paces')
    .where('provider', '=', slot('provider'))
    .where('source', '=', slot('source'))
    .where('node', '=', slot('node')),
)

/** Stores a pace. A mark of the operator stays. */
const upsertPace = prepareWrite<PaceRow>(({ db, slots }) => {
  const { provider: _provider, source: _source, reset: _reset, ...changing } = slots(columns)
  return db
    .insertInto('provider_paces')
    .values(slots(columns))
    .onConflict((conflict) => conflict.columns(['provider', 'source', 'node']).doUpdateSet(changing))
})

interface StoredAt {
  readonly offset: number
  readonly at: number
}

export function storePace({ provider, source }: PaceId, state: PaceState, { offset, at }: StoredAt): Write {
  const { window, messages, rate, rateRefusedAt, pause } = state
  const wall = (steady: number): number => Math.round(steady + offset)
  return upsertPace({
    ...{ provider, source, updated_at: at, reset: 0 },
    rate: rate === null ? null : Math.max(1, Math.round(rate * 1000)),
    sessions: Number.isFinite(window.size) ? window.size : null,
    ceiling: window.ceiling,
    ceiling_at: wall(window.ceilingAt),
    messages: messages?.count ?? null,
    messages_at: messages === null ? null : wall(messages.at),
    rate_refused_at: wall(rateRefusedAt),
    pause_kind: pause?.kind ?? null,
    pause_reply: pause?.reply ?? null,
    pause_since: pause === null ? null : wall(pause.since),
    pause_until: pause === null ? null : wall(pause.until),
    pause_probes: pause?.probes ?? null,
  })
}

interface StoredPace {
  readonly id: PaceId
  readonly state: PaceState
}

const ownPacesByChange = prepareRead<{ node: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('provider_paces')
    .select(columns)
    .where('reset', '=', sql.lit(0))
    .where('node', '=', slot('node'))
    .orderBy('updated_at', 'desc')
    .limit(slot('limit')),
)

/** Reads the paces of a node at the start of the process. `at` is the present time. */
export async function restorePaces(read: Read, node: string, now: StoredAt): Promise<readonly StoredPace[]> {
  return (await ownPacesByChange(read, { node, limit: MAX_PACES }))
    .toReversed()
    .map((row) => ({ id: { provider: row.provider, source: row.source }, state: toState(row, now) }))
}

/** Times in the future come from before the clock was set back, and become the present. */
function toState(row: PaceRow, { offset, at }: StoredAt): PaceState {
  const steady = (wall: number): number => Math.min(wall, at) - offset
  const { sessions, ceiling, ceiling_at, messages, messages_at, rate, rate_refused_at } = row
  return {
    window: { size: sessions ?? Number.POSITIVE_INFINITY, ceiling, ceilingAt: steady(ceiling_at) },
    messages: messages === null || messages_at === null ? null : { count: messages, at: steady(messages_at) },
    rate: rate === null ? null : rate / 1000,
    rateRefusedAt: steady(rate_refused_at),
    pause: toPause(row, { offset, at }),
  }
}

/** Returns null for a pause that lasts longer than any pause does, because the clock was set back since. */
function toPause(row: PaceRow, { offset, at }: StoredAt): Pause | null {
  const { pause_kind: kind, pause_reply: reply, pause_since, pause_until, pause_probes: probes } = row
  if (kind === null || reply === null || pause_since === null || pause_until === null || probes === null) return null
  if (pause_until - at > MAX_PAUSE) return null
  return { kind, reply, probes, since: Math.min(pause_since, at) - offset, until: pause_until - offset }
}
