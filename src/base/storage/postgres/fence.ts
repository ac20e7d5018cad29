/**
 * The row that a daemon holds while it works on a database: it says who may write, and which batch was written last.
 *
 * Every batch begins with an update of this row, which misses if another daemon has taken over: then the whole batch
 * fails. The number of the batch tells, after an answer was lost, whether the batch was committed. The time of the last
 * batch, by the clock of the server, tells whether the daemon lives. The number of the newest event before it tells others
 * which events of this writer they can see: all up to that one.
 */

import { DatabaseTaken } from '../db/schema-errors.js'
import { LEASE_TIME } from './node-rows.js'
import type { Statement } from './pipeline-run.js'
import type { PipelinedConnection } from './pipelined-connection.js'
import { checkRows } from './write-errors.js'
import { identifyWriter } from './writer-identity.js'

const OCCUPIED =
  'node.name: another living daemon of this name works on the database: stop that one, or name this node otherwise, as after a copy of the machine'

/** The row of a writer. */
export interface FencePlace {
  readonly node: string
  /** A number among the writers of the node. */
  readonly place: number
}

interface Held {
  readonly epoch: number
  readonly batch: number
  readonly slot: number
}

/** The newest number that an event has been given, by whichever writer. The events of a batch that begins have greater ones. */
const NEWEST_EVENT = '(select case when is_called then last_value else 0 end from events_seq_seq)'

const take = `insert into fence as held (node, place, epoch, batch, holder, beat, events_before)
  values ($1, $2, 1, 0, $4, now(), ${NEWEST_EVENT})
  on conflict (node, place) do update set epoch = held.epoch + 1, holder = excluded.holder, beat = now(),
    events_before = excluded.events_before
  where held.holder in ('', excluded.holder) or held.beat < now() - $3 * interval '1 second' returning epoch, batch, slot`

/**
 * It waits for a batch of the old epoch that is under way, so that the number which it reads is the last one. The row is of
 * an earlier epoch, or absent, if the server has lost commits: it went over to a copy that did not have them yet. It is
 * of a later epoch and still ours if the answer to a renewal was lost. Other nodes see by `losses` that commits are lost.
 */
const renew = `insert into fence as held (node, place, epoch, batch, holder, beat, events_before, losses)
  values ($1, $2, $3 + 1, 0, $4, now(), ${NEWEST_EVENT}, 1)
  on conflict (node, place) do update set epoch = greatest(held.epoch, $3) + 1, beat = now(),
    losses = held.losses + (held.batch < $5)::integer
  where held.epoch <= $3 or held.holder = excluded.holder returning epoch, batch, slot`

const advance = checkRows(
  `update fence set batch = $1, beat = now(), events_before = ${NEWEST_EVENT}
    where node = $2 and place = $3 and epoch = $4`,
  1,
)

const release = `update fence set holder = '', beat = now() where node = $1 and place = $2 and epoch = $3`

export class Fence {
  /** The batch that is known to be committed. */
  private committed: number

  private constructor(
    private readonly place: FencePlace,
    private readonly holder: string,
    private held: Held,
  ) {
    this.committed = held.batch
  }

  /**
   * Throws `DatabaseTaken` if another daemon has written within the last seconds. `holder` is an id of the data folder,
   * which one daemon alone uses at a time: a daemon of the same holder has ended.
   */
  static async take(connection: PipelinedConnection, place: FencePlace, holder: string): Promise<Fence> {
    const parameters = [place.node, place.place, LEASE_TIME, holder]
    const held = await runForHeld(connection, { sql: take, parameters })
    if (held === null) throw new DatabaseTaken(OCCUPIED)
    const fence = new Fence(place, holder, held)
    await fence.identify(connection)
    return fence
  }

  /** The number by which rows say that this writer wrote them. */
  get slot(): number {
    return this.held.slot
  }

  /** Begins the next batch. It misses if another daemon has taken over. */
  advance(): Statement {
    this.held = { ...this.held, batch: this.held.batch + 1 }
    const { node, place } = this.place
    return { sql: advance, parameters: [this.held.batch, node, place, this.held.epoch] }
  }

  /** The batch that was begun last has been committed. */
  noteCommitted(): void {
    this.committed = this.held.batch
  }

  /**
   * Tells, over a new connection, whether the batch that was begun last has been committed; it cannot be any more
   * afterwards. `hasLost` says that the server no longer has a batch that it had acknowledged. Throws `DatabaseTaken` if
   * another daemon has taken over.
   */
  async findOutcome(connection: PipelinedConnection): Promise<{ isCommitted: boolean; hasLost: boolean }> {
    const begun = this.held.batch
    const { node, place } = this.place
    const parameters = [node, place, this.held.epoch, this.holder, this.committed]
    const held = await runForHeld(connection, { sql: renew, parameters })
    if (held === null) throw new DatabaseTaken('another daemon has taken over')
    this.held = { ...held, batch: begun }
    await this.identify(connection)
    return { isCommitted: held.batch === begun, hasLost: held.batch < this.committed }
  }

  /** Lets another daemon begin at once. */
  async release(connection: PipelinedConnection): Promise<void> {
    const { node, place } = this.place
    await connection.run([{ sql: release, parameters: [node, place, this.held.epoch] }])
  }

  private async identify(connection: PipelinedConnection): Promise<void> {
    await connection.run(identifyWriter({ node: this.place.node, slot: this.held.slot }))
  }
}

async function runForHeld(connection: PipelinedConnection, statement: Statement): Promise<Held | null> {
  const [result] = await connection.run([statement])
  const row = result?.rows[0]
  if (row === undefined) return null
  return { epoch: Number(row['epoch']), batch: Number(row['batch']), slot: Number(row['slot']) }
}
