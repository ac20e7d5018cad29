/**
 * One daemon among those that work on a database: its *node*. On SQLite there is one, without a name. On PostgreSQL each
 * daemon has a name, and owns the rows that it has accepted: only the owner of a queue entry delivers it.
 *
 * Rows that the node owns bear its name in a column `node`, and rows that are counted or numbered apart by each writer
 * bear its slot. The database fills both columns in by itself.
 */

/** A node that drains gives what it has to others. When it has done so it is drained, and may be stopped. */
export type WorkState = 'working' | 'draining' | 'drained'

export interface NodeState {
  /** Empty on SQLite. */
  readonly name: string
  /** The slots whose events this node delivers to webhooks: its own, and those of nodes that have ended. */
  readonly slots: () => readonly number[]
  /** It does the work that one node does for all, such as notices and housekeeping. */
  readonly leads: () => boolean
  readonly state: () => WorkState
  /** Nodes that live, this one among them. */
  readonly countLiving: () => number
  /** The slots in which this process writes, and no other. */
  readonly ownSlots: readonly number[]
  /** A slot of each other node that lives. */
  readonly readOtherSlots: () => Promise<readonly number[]>
  /** Calls back when something of this changes, and when rows of another node have become its own. */
  readonly onChange: (listener: () => void) => void
  /** False if the node may have been adopted: it has committed nothing for ten seconds. Then it begins nothing new. */
  readonly holdsLease: () => boolean
  /** Says that everything has been given to others. */
  readonly noteDrained: () => Promise<void>
}

/** The slot of everything that is written to SQLite, and of what commands write. */
export const LONE_SLOT = 0

/** The daemon that has a database for itself. */
export const loneNode: NodeState = {
  name: '',
  slots: () => [LONE_SLOT],
  leads: () => true,
  state: () => 'working',
  countLiving: () => 1,
  // Commands write in the same slot.
  ownSlots: [],
  readOtherSlots: async () => [],
  onChange: () => undefined,
  holdsLease: () => true,
  noteDrained: async () => undefined,
}
