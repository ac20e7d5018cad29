/**
 * One daemon among those that work on a database: its *node*. On SQLite there is one, without a name. On PostgreSQL each
 * daemon has a name, and owns the rows that it has accepted: only the owner of a queue entry delivers it.
 *
 * Rows that the node owns bear its name in a column `node`, and rows that are counted or numbered apart by each writer
 * bear the slot of the writer. The database fills both columns in by itself.
 */

export interface NodeState {
  /** Empty on SQLite. */
  readonly name: string
  /** The slots whose events this node delivers to webhooks: its own, and those of nodes that have ended. */
  readonly slots: () => readonly number[]
  /** It does the work that one node does for all, such as notices and housekeeping. */
  readonly leads: () => boolean
  /** Calls back when the slots change, or when the node begins or ceases to lead. */
  readonly onChange: (listener: () => void) => void
}

/** The slot of everything that is written to SQLite, and of what commands write. */
export const LONE_SLOT = 0

/** The daemon that has a database for itself. */
export const loneNode: NodeState = {
  name: '',
  slots: () => [LONE_SLOT],
  leads: () => true,
  onChange: () => undefined,
}
