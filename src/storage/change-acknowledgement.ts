/**
 * How a command beside the daemon learns that the daemon has taken note of what it changed.
 *
 * Each such commit counts `change_asked` up. The daemon, which looks for commits of others four times
 * a second, reads that number, forgets what it remembers, ends sessions, and then writes the number to
 * `change_noticed`: from then on nothing is decided by what was true before that commit.
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

/** In the commit that the daemon is to take note of. */
export function announceChange(): Write {
  return incrementState({ key: ANNOUNCED_KEY })
}

export function readAnnouncedChange(read: Read): number {
  return Number(readServiceState(read, { key: ANNOUNCED_KEY })[0]?.value ?? 0)
}

export function readAcknowledgedChange(read: Read): number {
  return Number(readServiceState(read, { key: ACKNOWLEDGED_KEY })[0]?.value ?? 0)
}

/** `asked`: read before anything was forgotten. */
export function acknowledgeChange(asked: number): Write {
  return setServiceState({ key: ACKNOWLEDGED_KEY, value: String(asked) })
}
