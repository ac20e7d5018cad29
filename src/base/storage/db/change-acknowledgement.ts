/**
 * Lets a command that runs while the daemon runs learn that the daemon has taken note of its change.
 *
 * Such a commit counts an announcement in `changes`. The daemon checks for foreign commits four times a second: it reads
 * how many there are, drops its caches, ends sessions, and then writes the number to `change_noticed`. After that, no decision
 * rests on the state before the commit.
 */
import type { Log } from '../../platform/log.js'
import { shareWaitingRun } from '../../platform/serial-runner.js'
import type { Database } from './database.js'
import { prepareRead, type Read } from './prepared.js'
import { readServiceState, setServiceState } from './service-state.js'
import { countChange, type FollowedTable, TableChanges } from './table-changes.js'
import type { Write } from './write.js'

const ACKNOWLEDGED_KEY = 'change_noticed'

/** Belongs into the commit that the daemon must notice. */
export function announceChange(): Write {
  return countChange('commands')
}

const selectAnnounced = prepareRead<{ name: string }>()(({ db, slot }) =>
  db
    .selectFrom('changes')
    .select((eb) => eb.fn.sum<number | null>('number').as('number'))
    .where('table_name', '=', slot('name')),
)

/** Adds up the announcements of all slots. It grows with each one that is committed. */
export async function readAnnouncedChange(read: Read): Promise<number> {
  return (await selectAnnounced(read, { name: 'commands' }))[0]?.number ?? 0
}

export async function readAcknowledgedChange(read: Read): Promise<number> {
  return Number((await readServiceState(read, { key: ACKNOWLEDGED_KEY }))[0]?.value ?? 0)
}

interface ChangeFollowerDeps {
  readonly database: Pick<Database, 'read' | 'commit'>
  readonly log: Pick<Log, 'error'>
  /**
   * Puts what other processes have changed in force: it drops what caches hold of these tables. It resolves when that is
   * done.
   */
  readonly putInForce: (changed: ReadonlySet<FollowedTable>) => Promise<void>
}

/** Milliseconds until a change that could not be followed is followed again. */
const RETRY_PAUSE = 1_000

export class ChangeFollower {
  /**
   * Call this after each foreign commit, and once when the daemon is up. Runs never overlap; a commit that comes while
   * one is under way gets a further run. It never rejects.
   */
  readonly follow = shareWaitingRun(() => this.followNow())
  private readonly tables: TableChanges
  private retryTimer: NodeJS.Timeout | null = null
  private isStopped = false

  private constructor(
    private readonly deps: ChangeFollowerDeps,
    private lastAcknowledged: number,
  ) {
    this.tables = new TableChanges(deps.database.read)
  }

  static async open(deps: ChangeFollowerDeps): Promise<ChangeFollower> {
    return new ChangeFollower(deps, await readAcknowledgedChange(deps.database.read))
  }

  /** Resolves when the run under way has ended. Further calls of `follow` do nothing. */
  async stop(): Promise<void> {
    this.isStopped = true
    if (this.retryTimer !== null) clearTimeout(this.retryTimer)
    await this.follow()
  }

  private async followNow(): Promise<void> {
    if (this.isStopped) return
    const { database, log, putInForce } = this.deps
    try {
      // It is read before anything is dropped: a change that comes in between is acknowledged by the next run.
      const [announced] = await Promise.allSettled([readAnnouncedChange(database.read)])
      await this.tables.follow(putInForce)
      if (announced.status === 'rejected') throw announced.reason
      await this.acknowledge(announced.value)
    } catch (err) {
      log.error({ err }, 'changes by other processes cannot be read')
      this.retryLater()
    }
  }

  private async acknowledge(change: number): Promise<void> {
    if (change === this.lastAcknowledged) return
    const { database, log } = this.deps
    try {
      await database.commit([setServiceState({ key: ACKNOWLEDGED_KEY, value: String(change) })], { isOfNode: true })
      this.lastAcknowledged = change
    } catch (err) {
      log.error({ err }, 'the change of a command cannot be acknowledged')
    }
  }

  private retryLater(): void {
    if (this.isStopped) return
    if (this.retryTimer !== null) clearTimeout(this.retryTimer)
    this.retryTimer = setTimeout(() => void this.follow(), RETRY_PAUSE).unref()
  }
}
