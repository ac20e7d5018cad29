/** The tries to get the certificate of each name, as rows: what is known of them, and the requests of operators. */
import { sql } from 'kysely'
import type { DomainName } from '../../base/mail/address.js'
import { DAY } from '../../base/platform/time-units.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import { type NameRecord, newNameRecord } from './name-record.js'

export interface NameState {
  readonly record: NameRecord
  /** An operator asked for a renewal. */
  readonly isAsked: boolean
  /** Epoch milliseconds. */
  readonly updatedAt: number
}

export const newNameState: NameState = { record: newNameRecord, isAsked: false, updatedAt: 0 }

const stateOfName = prepareRead<{ name: DomainName }>()(({ db, slot }) =>
  db
    .selectFrom('acme_names')
    .select(['failures', 'fault', 'tried_at', 'next_try_at', 'orders', 'issued', 'asked', 'updated_at'])
    .where('name', '=', slot('name')),
)

const statesAfter = prepareRead<{ after: string }>()(({ db, slot }) =>
  db
    .selectFrom('acme_names')
    .select(['name', 'failures', 'fault', 'tried_at', 'next_try_at', 'orders', 'issued', 'asked', 'updated_at'])
    .where('name', '>', sql<DomainName>`${slot('after')}`)
    .orderBy('name')
    .limit(ROW_STEP),
)

/** A name without a row has a new state. */
export async function readState(read: Read, name: DomainName): Promise<NameState> {
  const [row] = await stateOfName(read, { name })
  return row === undefined ? newNameState : toState(row)
}

/** Reads those of all names that have a row, in steps. */
export async function readStates(read: Read): Promise<Map<DomainName, NameState>> {
  const states = new Map<DomainName, NameState>()
  let after = ''
  for (;;) {
    const page = await statesAfter(read, { after })
    for (const row of page) states.set(row.name, toState(row))
    const last = page.at(-1)
    if (last === undefined || page.length < ROW_STEP) return states
    after = last.name
    await waitForStep()
  }
}

type StateRow = Awaited<ReturnType<typeof stateOfName>>[number]

function toState(row: StateRow): NameState {
  const { failures, fault, tried_at: triedAt, next_try_at: nextTryAt, orders, issued } = row
  const record = { failures, fault, triedAt, nextTryAt, orders: parseJson(orders), issued: parseJson(issued) }
  return { record, isAsked: row.asked === 1, updatedAt: row.updated_at }
}

/** Asks the daemons to renew at their next look. */
export const requestRenewal = prepareWrite<{ name: DomainName; now: number }>(({ db, slot }) =>
  db
    .insertInto('acme_names')
    .values({ name: slot('name'), asked: 1, updated_at: slot('now') })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ asked: 1, updated_at: slot('now') })),
)

/** How long the row of a name that is no longer served is kept: what it counts limits orders for a week. */
export const KEEP_TIME = 8 * DAY

export const removeUnused = prepareWrite<{ name: DomainName; before: number }>(({ db, slot }) =>
  db.deleteFrom('acme_names').where('name', '=', slot('name')).where('updated_at', '<', slot('before')),
)
