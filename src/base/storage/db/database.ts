/** The open database, whichever engine holds it. */
import type { NodeState } from './node-state.js'
import type { Read } from './prepared.js'
import type { SpoolPlace } from './spool-files.js'
import type { Commit, StorageFault } from './write.js'

/** The part of the database that most rooms use. */
export interface Store {
  /** For short reads. A long read must go page by page, or the WAL is never checkpointed. */
  readonly read: Read
  /** `openDatabase` (`base/storage/open`) gives it; it leads to `Writer.commit`. */
  readonly commit: Commit
}

/** Bytes of a page of the file. */
export const PAGE_BYTES = 4_096

/** What one turn of the writer has committed. */
export interface WrittenBatch {
  /** Requests that failed count too. */
  readonly requests: number
  /** Milliseconds of the COMMIT statement, which syncs, or null if nothing was committed. */
  readonly syncTime: number | null
}

/** Bytes of the database and of what belongs to it; 0 for what this engine does not have. */
export interface DatabaseSizes {
  readonly database: number
  /** The write-ahead log. */
  readonly wal: number
  /** The spool files, which hold large messages. */
  readonly spool: number
  /** Empty pages within the database, which the next rows fill. */
  readonly free: number
}

/** What the settings of connections to a server are read from. Unlike them it can be sent to a thread. */
export interface ServerSource {
  /** The keys of `[storage]`. A path is absolute, and empty for none. */
  readonly storage: {
    readonly url: string
    readonly passwordFile: string
    readonly caFile: string
    readonly schema: string
  }
  /** By the names of libpq. */
  readonly environment: Readonly<Partial<Record<'PGPASSWORD' | 'PGPASSFILE' | 'PGUSER' | 'HOME', string | undefined>>>
}

/** How a thread reaches the database: see `openThreadReader`. */
export type DatabasePlace =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly source: ServerSource }

export interface Database extends Store {
  readonly place: DatabasePlace
  readonly node: NodeState
  /** Calls back after another process (the command line) has committed something. */
  readonly onForeignCommit: (listener: () => void | Promise<void>) => void
  /** Commits that the writer has made: many requests share one. */
  readonly countCommits: () => number
  /** Calls back after each batch of the writer. */
  readonly onBatch: (listener: (batch: WrittenBatch) => void) => void
  /** Calls back when a server cannot be reached, be it for reads alone. */
  readonly onFault: (listener: (fault: StorageFault) => void) => void
  /** Milliseconds in which the writer thread was busy, since its start. */
  readonly readBusyTime: () => number
  readonly measure: () => Promise<DatabaseSizes>
  /** Null if the database is a server's, which does all of that itself. */
  readonly files: DatabaseFiles | null
  /** Completes pending requests, then closes all connections. */
  readonly close: () => Promise<void>
}

/** The database as a command opens it. */
export interface OpenStore extends Store, Pick<Database, 'measure'> {
  /** Completes pending requests. */
  readonly close: () => Promise<void>
}

/** Work on the files of a database of ours. */
export interface DatabaseFiles {
  /** Gives up to `pages` free pages back to the file system, as periodic work after deletions. */
  readonly reclaimPages: (pages: number) => Promise<void>
  /**
   * Removes from the log what was deleted before, which needs a restart of the log. Rejects with `StorageFault` while a
   * reader still uses the log; then try again. `goesOn` says that it is such a try, for which a restart since the first
   * one suffices.
   */
  readonly purgeLog: (options?: { readonly goesOn: boolean }) => Promise<void>
  /**
   * One step of the sweep of spool files. It overwrites some of these holes. If there are none, it removes files that
   * no row names. Only the daemon calls it. Rejects with `StorageFault` while another process holds the files.
   */
  readonly sweepSpool: (holes: readonly SpoolPlace[]) => Promise<void>
}

/** Pages of the file that deletions have emptied and that `reclaimPages` gives back. */
export async function countFreePages(read: Read): Promise<number> {
  const [state] = await read<{ freelist_count: number }>('pragma freelist_count', [])
  return state?.freelist_count ?? 0
}
