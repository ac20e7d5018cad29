/**
 * The row that a daemon holds while it works on a database: it says who may write, and which batch was written last.
 *
 * Every batch begins with an update of this row, which misses if another daemon has taken over: then the whole batch
 * fails. The number of the batch tells, after an answer was lost, whether the batch was committed. The time of the last
 * batch, by the clock of the server, tells whether the daemon lives.
 */

import { DatabaseTaken } from '../db/schema-errors.js'
import type { Statement } from './pipeline-run.js'
import type { PipelinedConnection } from './pipelined-connection.js'
import { checkRows } from './write-errors.js'

/** Seconds without a beat after which a daemon counts as gone. */
const SILENCE_LIMIT = 10

const OCCUPIED =
  'storage.url: another daemon works on this database; one at a time may use a schema: stop that one, or name another storage.schema'

/** One daemon works on a database, so its row has a fixed name. */
const NODE = 'daemon'

interface Held {
  readonly epoch: number
  readonly batch: number
}

const take = `insert into fence as held (node, slot, epoch, batch, holder, beat) values ($1, 0, 1, 0, $3, now())
  on conflict (node, slot) do update set epoch = held.epoch + 1, holder = excluded.holder, beat = now()
  where held.holder = excluded.holder or held.beat < now() - $2 * interval '1 second' returning epoch, batch`

/**
 * It waits for a batch of the old epoch that is under way, so that the number which it reads is the last one. The row is of
 * an earlier epoch, or absent, if the server has lost commits: it went over to a copy that did not have them yet. It is
 * of a later epoch and still ours if the answer to a renewal was lost.
 */
const renew = `insert into fence as held (node, slot, epoch, batch, holder, beat) values ($1, 0, $2 + 1, 0, $3, now())
  on conflict (node, slot) do update set epoch = greatest(held.epoch, $2) + 1, beat = now()
  where held.epoch <= $2 or held.holder = excluded.holder returning epoch, batch`

const advance = checkRows('update fence set batch = $1, beat = now() where node = $2 and slot = 0 and epoch = $3', 1)

const release = `update fence set beat = '-infinity' where node = $1 and slot = 0 and epoch = $2`

export class Fence {
  /** The batch that is known to be committed. */
  private committed: number

  private constructor(
    private readonly holder: string,
    private held: Held,
  ) {
    this.committed = held.batch
  }

  /**
   * Throws `DatabaseTaken` if another daemon has written within the last seconds. `holder` is an id of the data folder,
   * which one daemon alone uses at a time: a daemon of the same holder has ended.
   */
  static async take(connection: PipelinedConnection, holder: string): Promise<Fence> {
    const held = await runForHeld(connection, { sql: take, parameters: [NODE, SILENCE_LIMIT, holder] })
    if (held === null) throw new DatabaseTaken(OCCUPIED)
    return new Fence(holder, held)
  }

  /** Begins the next batch. It misses if another daemon has taken over. */
  advance(): Statement {
    this.held = { epoch: this.held.epoch, batch: this.held.batch + 1 }
    return { sql: advance, parameters: [this.held.batch, NODE, this.held.epoch] }
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
    const held = await runForHeld(connection, { sql: renew, parameters: [NODE, this.held.epoch, this.holder] })
    if (held === null) throw new DatabaseTaken('another daemon has taken over')
    this.held = { epoch: held.epoch, batch: begun }
    return { isCommitted: held.batch === begun, hasLost: held.batch < this.committed }
  }

  /** Lets another daemon begin at once. */
  async release(connection: PipelinedConnection): Promise<void> {
    await connection.run([{ sql: release, parameters: [NODE, this.held.epoch] }])
  }
}

async function runForHeld(connection: PipelinedConnection, statement: Statement): Promise<Held | null> {
  const [result] = await connection.run([statement])
  const row = result?.rows[0]
  return row === undefined ? null : { epoch: Number(row['epoch']), batch: Number(row['batch']) }
}
