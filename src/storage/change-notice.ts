/**
 * How a command beside the daemon learns that the daemon has taken note of what it changed.
 *
 * Each such commit counts `change_asked` up. The daemon, which looks for commits of others four times
 * a second, reads that number, forgets what it remembers, ends sessions, and then writes the number to
 * `change_noticed`: from then on nothing is decided by what was true before that commit.
 */
import { sql } from 'kysely'
import { prepareWrite, type Read } from './prepared.js'
import { serviceState, setServiceState } from './service-state.js'
import type { Write } from './writer/write.js'

const ASKED = 'change_asked'
const NOTICED = 'change_noticed'

const countUp = prepareWrite<{ key: string }>(({ db, slot }) =>
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
export function askForNotice(): Write {
  return countUp({ key: ASKED })
}

export function noticeAsked(read: Read): number {
  return Number(serviceState(read, { key: ASKED })[0]?.value ?? 0)
}

export function noticeGiven(read: Read): number {
  return Number(serviceState(read, { key: NOTICED })[0]?.value ?? 0)
}

/** `asked`: read before anything was forgotten. */
export function giveNotice(asked: number): Write {
  return setServiceState({ key: NOTICED, value: String(asked) })
}
