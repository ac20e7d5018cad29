/**
 * Lets a command that runs while the daemon runs learn that the daemon has taken note of its change.
 *
 * Such a commit increments `change_asked`. The daemon checks for foreign commits four times a second: it reads that
 * number, drops its caches, ends sessions, and then writes the number to `change_noticed`. After that, no decision
 * rests on the state before the commit.
 */
import { sql } from 'kysely'
import type { Log } from '../../platform/log.js'
import type { Database } from './database.js'
import { prepareWrite, type Read } from './prepared.js'
import { readServiceState, setServiceState } from './service-state.js'
import type { Write } from './write.js'

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

interface ChangeAcknowledgerDeps {
  readonly database: Pick<Database, 'read' | 'commit'>
  readonly log: Pick<Log, 'error'>
  /** Drops what is cached. */
  readonly forget: () => void
}

/** The function that it returns is called after each foreign commit, and once when the daemon is up. */
export function createChangeAcknowledger({
  database: { read, commit },
  log,
  forget,
}: ChangeAcknowledgerDeps): () => void {
  let lastAcknowledged = readAcknowledgedChange(read)
  const acknowledge = async (change: number): Promise<void> => {
    if (change === lastAcknowledged) return
    await commit([setServiceState({ key: ACKNOWLEDGED_KEY, value: String(change) })])
    lastAcknowledged = change
  }
  return () => {
    try {
      // It is read before the caches are dropped: a change that comes in between is acknowledged by the next call.
      const announced = readAnnouncedChange(read)
      forget()
      acknowledge(announced).catch((err: unknown) =>
        log.error({ err }, 'the change of a command cannot be acknowledged'),
      )
    } catch (err) {
      forget()
      log.error({ err }, 'changes by other processes cannot be read')
    }
  }
}
