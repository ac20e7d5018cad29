/**
 * Opens a database of PostgreSQL, for the daemon or for a command.
 *
 * Invariant: a database has the schema of this version, and one daemon alone writes to it. Commands may write beside the
 * daemon; each of their commits announces itself, and the daemon looks for announcements four times a second.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../platform/log.js'
import { announceChange, readAnnouncedChange } from '../db/change-acknowledgement.js'
import type { Database, DatabaseSizes, OpenStore, WrittenBatch } from '../db/database.js'
import { useEngine } from '../db/engine.js'
import { delayForTests } from '../db/late-reads.js'
import { LONE_SLOT, loneNode } from '../db/node-state.js'
import type { Read, ReadElsewhere, ReadTogether } from '../db/prepared.js'
import { DatabaseTaken } from '../db/schema-errors.js'
import type { Write } from '../db/write.js'
import { BatchWriter } from './batch-writer.js'
import { PostgresServers } from './connect.js'
import { ConnectionPool } from './connection-pool.js'
import type { ConnectionSettings } from './connection-settings.js'
import { findUnfinishedCopy, forgetCopy, refuseUnfinishedCopy } from './copy-mark.js'
import { Fence, type FencePlace, findOtherNode, OCCUPIED } from './fence.js'
import { type ColumnTypes, ManyRows } from './many-rows.js'
import type { Statement } from './pipeline-run.js'
import type { PipelinedConnection } from './pipelined-connection.js'
import { prepareSchema } from './prepare-schema.js'
import type { Connect } from './server-pulse.js'
import { toSought } from './wire-values.js'
import { toStatement, toWriteError } from './write-errors.js'

/** Milliseconds between looks for commits of commands. */
const LOOK_INTERVAL = 250
/** Connections for reads that may take long, so that short ones never wait behind them. */
const LONG_READERS = 2
/** Milliseconds after which the server ends a long read. */
const LONG_READ_LIMIT = 20_000

/** Milliseconds, somewhat more than a daemon may be silent. */
const TAKE_WAIT = 12_000
const TAKE_PAUSE = 500

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
  /** Nodes of other names may work on the database too. */
  readonly isShared?: boolean
  /** Milliseconds to wait for a daemon that works on the database, which may have died on another machine. */
  readonly maxWait?: number
  readonly log: Pick<Log, 'warn' | 'error'>
  /** Another daemon has taken over, so nothing can be written any more. */
  readonly onTaken: (error: Error) => void
}

/** Throws `DatabaseTaken` while another daemon works on the database. */
export async function openPostgres(options: DaemonOptions): Promise<Database> {
  const { settings, connections, log, onTaken } = options
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
  const listeners = new Set<(batch: WrittenBatch) => void>()
  const onBatch = (batch: WrittenBatch): void => {
    for (const listener of listeners) listener(batch)
  }
  const connect: Connect = (limits) => servers.connect(limits)
  const writer = new BatchWriter({ fence, connection, manyRows, connect, log, onTaken, onBatch })
  const readers = openReaders(servers, connections)
  // A daemon that has the database for itself also delivers the events of commands.
  const slots = options.isShared === true ? [fence.slot] : [LONE_SLOT, fence.slot]
  const announcements = new AnnouncementWatch(readers.read)
  return {
    place: { engine: 'postgres', source: settings.source },
    node: { ...loneNode, name: options.node, slots: () => slots },
    read: readers.read,
    commit: (writes, options) => writer.commit(writes, options),
    measure: () => measureDatabase(readers.read),
    files: null,
    onForeignCommit: (listener) => announcements.onChange(listener),
    countCommits: () => writer.countCommits(),
    onBatch: (listener) => void listeners.add(listener),
    readBusyTime: () => 0,
    close: async () => {
      announcements.stop()
      await writer.close()
      await readers.close()
    },
  }
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
  { settings: { schema }, node, holder, isShared = false, maxWait = TAKE_WAIT }: DaemonOptions,
): Promise<Fence> {
  if (!isShared) await refuseOtherNode(connection, node, maxWait)
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

async function refuseOtherNode(connection: PipelinedConnection, node: string, maxWait: number): Promise<void> {
  const end = performance.now() + maxWait
  for (;;) {
    const [found] = await connection.run([{ sql: findOtherNode, parameters: [node] }])
    if (found?.rows.length === 0) return
    if (performance.now() > end) throw new DatabaseTaken(OCCUPIED)
    await pause(TAKE_PAUSE)
  }
}

async function measureDatabase(read: Read): Promise<DatabaseSizes> {
  const [row] = await read<{ bytes: number }>('select pg_database_size(current_database()) as bytes', [])
  return { database: row?.bytes ?? 0, wal: 0, spool: 0, free: 0 }
}

/**
 * Commands write in one slot, in which events become visible in the order of their numbers. So their commits follow one
 * another, from before the first number to the end.
 */
const waitForCommands: Statement = {
  sql: 'select id from kysely_migration_lock for update',
  parameters: [],
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
      try {
        await connection.run([waitForCommands, ...announced(writes, announcement).map(toStatement), forgetCopy])
      } catch (error) {
        throw toWriteError(error)
      }
    },
    close: async () => {
      await connection.close()
      await readers.close()
    },
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

function openReaders(servers: PostgresServers, connections: number): Readers {
  const short = new ConnectionPool({ connect: (limits) => servers.connect(limits), connections })
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

/** Looks for commits of commands. The first look tells of one in any case: it may have come before the daemon listened. */
class AnnouncementWatch {
  private readonly listeners = new Set<() => void>()
  private timer: NodeJS.Timeout | null = null
  private seen: number | null = null
  private isLooking = false

  constructor(private readonly read: Read) {}

  onChange(listener: () => void): void {
    this.listeners.add(listener)
    this.timer ??= setInterval(() => void this.look(), LOOK_INTERVAL).unref()
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer)
  }

  private async look(): Promise<void> {
    if (this.isLooking) return
    this.isLooking = true
    try {
      const announced = await readAnnouncedChange(this.read)
      if (announced !== this.seen) for (const listener of this.listeners) listener()
      this.seen = announced
    } catch {
      // What is done during an outage is seen after it.
    } finally {
      this.isLooking = false
    }
  }
}
