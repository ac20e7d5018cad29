/**
 * How a command that runs beside the daemon learns that the daemon has taken note of its change.
 *
 * Such a commit increments `change_asked`. The daemon checks for foreign commits four times a second: it
 * reads that number, drops its caches, ends sessions, and then writes the number to `change_noticed`. After
 * that, no decision rests on the state before the commit.
 */
import { sql } from 'kysely'
import { prepareWrite, type Read } from './prepared.js'
import { readServiceState, setServiceState } from './service-state.js'
import type { Write } from './writer/write.js'

const ANNOUNCED_KEY = 'change_asked'
const ACKNOWLEDGED_KEY = 'change_noticed'

const incrementState = prepareWrite<{ key: string }>(({ db, slot }) =>
  db
    .insertInto('service_state')
    .values({ key: slot('key'), value: '1' })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet({ value: sql<string>`cast(cast(service_state.value as integer) + 1 as text)` }),
    ),
)

/** Belongs into the commit that the daemon must notice. */
export function announceChange(): Write {
  return incrementState({ key: ANNOUNCED_KEY })
}

export function readAnnouncedChange(read: Read): number {
  return Number(readServiceState(read, { key: ANNOUNCED_KEY })[0]?.value ?? 0)
}

export function readAcknowledgedChange(read: Read): number {
  return Number(readServiceState(read, { key: ACKNOWLEDGED_KEY })[0]?.value ?? 0)
}

/** `announced`: as read before the caches were dropped. */
export function acknowledgeChange(announced: number): Write {
  return setServiceState({ key: ACKNOWLEDGED_KEY, value: String(announced) })
}
