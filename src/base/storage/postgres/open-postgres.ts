/**
 * Opens a database of PostgreSQL, for the daemon or for a command.
 *
 * Invariant: a database has the schema of this version, and one daemon of each name writes to it. Commands may write beside
 * the daemons; each of their commits announces itself.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, formatTimestamp } from '../../platform/clock.js'
import type { Log } from '../../platform/log.js'
import { announceChange } from '../db/change-acknowledgement.js'
import type { Database, DatabaseSizes, OpenStore, WrittenBatch } from '../db/database.js'
import { useEngine } from '../db/engine.js'
import { delayForTests } from '../db/late-reads.js'
import type { Read, ReadElsewhere, ReadTogether } from '../db/prepared.js'
import { DatabaseTaken } from '../db/schema-errors.js'
import type { Commit, StorageFault, Write } from '../db/write.js'
import { planBatch, type RequestStatement } from './batch-plan.js'
import { BatchWriter } from './batch-writer.js'
import { PostgresServers } from './connect.js'
import { ConnectionPool } from './connection-pool.js'
import type { ConnectionSettings } from './connection-settings.js'
import { findUnfinishedCopy, forgetCopy, refuseUnfinishedCopy, requireNoCopy, waitForCommands } from './copy-mark.js'
import { Fence, type FencePlace } from './fence.js'
import { type ColumnTypes, ManyRows } from './many-rows.js'
import { Membership } from './membership.js'
import { probeFence, readNodes } from './node-rows.js'
import type { PipelinedConnection } from './pipelined-connection.js'
import { prepareSchema } from './prepare-schema.js'
import { ServerError } from './server-errors.js'
import type { Connect } from './server-pulse.js'
import { toSought } from './wire-values.js'
import { toStatement, toWriteError } from './write-errors.js'

/** Connections for reads that may take long, so that short ones never wait behind them. */
const LONG_READERS = 2
/** Milliseconds after which the server ends a long read. */
const LONG_READ_LIMIT = 20_000

/** Milliseconds, somewhat more than a daemon may be silent. */
const TAKE_WAIT = 12_000
const TAKE_PAUSE = 500

/** SQLSTATE of a lock that is held. */
const LOCK_NOT_AVAILABLE = '55P03'

export interface PostgresOptions {
  readonly settings: ConnectionSettings
  /** Connections for short reads. */
  readonly connections: number
}

interface DaemonOptions extends PostgresOptions {
  /** An id of the data folder, which one daemon alone uses at a time. */
  readonly holder: string
  /** The name of this daemon among those that work on the database. */
  readonly node: string
  /** Milliseconds to wait for a daemon that works on the database, which may have died on another machine. */
  readonly maxWait?: number
  readonly clock: Clock
  /** See `Membership`. */
  readonly watchTime?: number
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Another daemon has taken over, so nothing can be written any more. */
  readonly onTaken: (error: Error) => void
}

/** Throws `DatabaseTaken` while another daemon works on the database. */
export async function openPostgres(options: DaemonOptions): Promise<Database> {
  const { settings, connections, node: name, clock, log } = options
  useEngine('postgres')
  const servers = new PostgresServers(settings)
  const connection = await connectPrepared(servers, settings)
  const begun = async () => ({
    fence: await beginWork(connection, options),
    manyRows: new ManyRows(await readColumnTypes(connection)),
  })
  const { fence, manyRows } = await begun().catch(async (error: unknown) => {
    await connection.close()
    throw error
  })
  const batches = new Listeners<WrittenBatch>()
  const faults = new Listeners<StorageFault>()
  const connect: Connect = (limits) => servers.connect(limits)
  const readers = openReaders(servers, connections, faults.tell)
  const onTaken = (error: Error): void => void explainLoss(readers.read, name, error).then(options.onTaken)
  const writer = new BatchWriter({
    ...{ fence, connection, manyRows, connect, log, onTaken },
    onBatch: batches.tell,
    onFault: faults.tell,
  })
  const commit: Commit = (writes, options) => writer.commit(writes, options)
  const { read } = readers
  const node = new Membership({
    ...{ name, slots: [fence.slot], read, clock, log, commit, watchTime: options.watchTime },
    countLapses: writer.lease.countLapses,
    onSeen: writer.lease.endLapse,
    holdsLease: () => writer.lease.isHeld(),
    onLoss: () => writer.stopForLoss(),
    isFree: (other) => isFree(servers, other),
  })
  await node.begin()
  return {
    place: { engine: 'postgres', source: settings.source },
    node,
    read,
    commit,
    measure: () => measureDatabase(read),
    files: null,
    onForeignCommit: (listener) => node.onForeignCommit(listener),
    countCommits: () => writer.countCommits(),
    onBatch: batches.add,
    onFault: faults.add,
    readBusyTime: () => 0,
    close: async () => {
      await node.end()
      await writer.close()
      await readers.close()
    },
  }
}

class Listeners<Value> {
  private readonly all = new Set<(value: Value) => void>()

  readonly tell = (value: Value): void => {
    for (const listener of this.all) listener(value)
  }

  readonly add = (listener: (value: Value) => void): void => {
    this.all.add(listener)
  }
}

/** A machine that lost its power in the middle of a batch leaves a lock until the server ends its session. */
async function isFree(servers: PostgresServers, node: string): Promise<boolean> {
  const connection = await servers.connect()
  try {
    await connection.run([{ sql: probeFence, parameters: [node] }])
    return true
  } catch (error) {
    if (error instanceof ServerError && error.code === LOCK_NOT_AVAILABLE) return false
    throw error
  } finally {
    await connection.close()
  }
}

/** Says who has taken over. */
async function explainLoss(read: Read, name: string, error: Error): Promise<Error> {
  const own = await readNodes(read).then(
    (nodes) => nodes.find((node) => node.name === name),
    () => undefined,
  )
  if (own === undefined || own.adopted_by === null) return error
  const since = formatTimestamp(own.adopted_at ?? own.last_beat)
  return new DatabaseTaken(`node ${name} was silent, and ${own.adopted_by} has adopted it at ${since}`)
}

/** Connects, and sees to it that the schema is that of this version. */
async function connectPrepared(servers: PostgresServers, { schema }: ConnectionSettings): Promise<PipelinedConnection> {
  const connection = await servers.connect()
  try {
    await prepareSchema(connection, schema)
    return connection
  } catch (error) {
    await connection.close()
    throw error
  }
}

async function readColumnTypes(connection: PipelinedConnection): Promise<ColumnTypes> {
  const sql = `select table_name || '.' || column_name as place, data_type as type from information_schema.columns
    where table_schema = current_schema()`
  const [found] = await connection.run([{ sql, parameters: [] }])
  return new Map(found?.rows.map(({ place, type }) => [String(place), String(type)]))
}

/** From now on the data is no mere copy of an SQLite database. */
async function beginWork(
  connection: PipelinedConnection,
  { settings: { schema }, node, holder, maxWait = TAKE_WAIT }: DaemonOptions,
): Promise<Fence> {
  const fence = await takeFence(connection, { node, place: 0 }, holder, maxWait)
  const [, copies] = await connection.run([forgetCopy, findUnfinishedCopy])
  // One that began a moment ago. It finds the fence, and fails.
  refuseUnfinishedCopy(copies, schema)
  return fence
}

async function takeFence(
  connection: PipelinedConnection,
  place: FencePlace,
  holder: string,
  maxWait: number,
): Promise<Fence> {
  const end = performance.now() + maxWait
  for (;;) {
    try {
      return await Fence.take(connection, place, holder)
    } catch (error) {
      if (!(error instanceof DatabaseTaken) || performance.now() > end) throw error
      await pause(TAKE_PAUSE)
    }
  }
}

async function measureDatabase(read: Read): Promise<DatabaseSizes> {
  const [row] = await read<{ bytes: number }>('select pg_database_size(current_database()) as bytes', [])
  return { database: row?.bytes ?? 0, wal: 0, spool: 0, free: 0 }
}

/** Opens it for a command, whose commits are not gathered. */
export async function openPostgresStore({ settings, connections }: PostgresOptions): Promise<OpenStore> {
  useEngine('postgres')
  const servers = new PostgresServers(settings)
  const connection = await connectPrepared(servers, settings)
  const readers = openReaders(servers, connections)
  const announcement = announceChange()
  return {
    read: readers.read,
    measure: () => measureDatabase(readers.read),
    commit: async (writes) => {
      const statements = announced(writes, announcement).map(toStatement)
      await commitOfCommand(connection, statements, settings.schema)
    },
    close: async () => {
      await connection.close()
      await readers.close()
    },
  }
}

async function commitOfCommand(
  connection: PipelinedConnection,
  statements: readonly RequestStatement[],
  schema: string,
): Promise<void> {
  const planned = planBatch([{ statements }], null).map(({ statement }) => statement)
  const run = [waitForCommands, requireNoCopy, ...planned, forgetCopy]
  try {
    await connection.run(run)
  } catch (error) {
    if (error instanceof ServerError && run[error.statement] === requireNoCopy) {
      const [copies] = await connection.run([findUnfinishedCopy])
      refuseUnfinishedCopy(copies, schema)
    }
    throw toWriteError(error)
  }
}

function announced(writes: readonly Write[], announcement: Write): readonly Write[] {
  return writes.some(({ sql }) => sql === announcement.sql) ? writes : [...writes, announcement]
}

/** Opens it for a thread that reads and does nothing else. */
export function openPostgresReader(settings: ConnectionSettings): Readers {
  useEngine('postgres')
  return openReaders(new PostgresServers(settings), 1)
}

interface Readers {
  readonly read: Read
  readonly close: () => Promise<void>
}

function openReaders(
  servers: PostgresServers,
  connections: number,
  onFault: (fault: StorageFault) => void = () => undefined,
): Readers {
  const short = new ConnectionPool({ connect: (limits) => servers.connect(limits), connections, onFault })
  const long = new ConnectionPool({
    connect: (limits) => servers.connect({ ...limits, statement: LONG_READ_LIMIT }),
    connections: LONG_READERS,
  })
  const readShort = async <Row>(sql: string, parameters: readonly unknown[]) =>
    (await short.read(sql, parameters.map(toSought))) as Row[]
  const readLong: ReadElsewhere = async (sql, parameters) => [...(await long.read(sql, parameters.map(toSought)))]
  const together: ReadTogether = (queries) =>
    short.readTogether(queries.map(({ sql, parameters }) => ({ sql, parameters: parameters.map(toSought) })))
  const read: Read = Object.assign(delayForTests(Object.assign(readShort, { together })), { elsewhere: readLong })
  return {
    read,
    close: async () => {
      await Promise.all([short.close(), long.close()])
    },
  }
}
