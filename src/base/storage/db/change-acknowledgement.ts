/**
 * Lets a command that runs while the daemon runs learn that the daemon has taken note of its change.
 *
 * Such a commit counts an announcement in `changes`. The daemon checks for foreign commits four times a second: it reads
 * how many there are, drops its caches, ends sessions, and then writes the number to `change_noticed`. After that, no decision
 * rests on the state before the commit.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../platform/log.js'
import { shareWaitingRun } from '../../platform/serial-runner.js'
import type { Database } from './database.js'
import { prepareRead, prepareWrite, type Read } from './prepared.js'
import { ACKNOWLEDGED, countChange, type FollowedTable, TableChanges } from './table-changes.js'
import type { Write } from './write.js'

/** Belongs into the commit that the daemon must notice. */
export function announceChange(): Write {
  return countChange('commands')
}

const selectByName = prepareRead<{ name: string }>()(({ db, slot }) =>
  db.selectFrom('changes').select(['slot', 'number']).where('table_name', '=', slot('name')),
)

/** Adds up the announcements and questions of all slots. It grows with each one that is committed. */
export async function readAnnouncedChange(read: Read): Promise<number> {
  const [commands, questions] = await Promise.all([
    selectByName(read, { name: 'commands' }),
    selectByName(read, { name: 'questions' }),
  ])
  return [...commands, ...questions].reduce((sum, { number }) => sum + number, 0)
}

/** Up to which announcement the daemons have put everything in force that write in these slots. */
export async function readAcknowledgedChange(read: Read, slots: readonly number[]): Promise<number> {
  const rows = await selectByName(read, { name: ACKNOWLEDGED })
  const numbers = slots.map((slot) => rows.find((row) => row.slot === slot)?.number ?? 0)
  return Math.min(...numbers)
}

const setAcknowledged = prepareWrite<{ name: string; number: number }>(({ db, slot }) =>
  db
    .insertInto('changes')
    .values({ table_name: slot('name'), number: slot('number') })
    .onConflict((conflict) => conflict.columns(['table_name', 'slot']).doUpdateSet({ number: slot('number') })),
)

const POLL_INTERVAL = 20
/** Milliseconds for which an answer waits for other nodes. */
const MAX_WAIT = 5_000

/**
 * Resolves when all other nodes that live have put in force what this one has committed. It resolves to false if one of
 * them has not done so within five seconds.
 */
export async function waitForNodes({
  read,
  commit,
  node,
}: Pick<Database, 'read' | 'commit' | 'node'>): Promise<boolean> {
  if (node.name === '') return true
  await commit([countChange('questions')])
  const announced = await readAnnouncedChange(read)
  for (let waited = 0; waited < MAX_WAIT; waited += POLL_INTERVAL) {
    // A node that falls silent meanwhile is not waited for: it looks at all changes before it goes on.
    const others = await node.readOtherSlots()
    if (others.length === 0 || (await readAcknowledgedChange(read, others)) >= announced) return true
    await pause(POLL_INTERVAL)
  }
  return false
}

interface ChangeFollowerDeps {
  readonly database: Pick<Database, 'read' | 'commit' | 'node'>
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

  private lastAcknowledged: number | null = null

  constructor(private readonly deps: ChangeFollowerDeps) {
    const { read, node } = deps.database
    this.tables = new TableChanges(read, node.ownSlots)
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
      await database.commit([setAcknowledged({ name: ACKNOWLEDGED, number: change })], { isOfNode: true })
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
