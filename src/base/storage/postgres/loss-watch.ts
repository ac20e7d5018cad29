/**
 * Finds that the server has lost commits: it went over to a copy that did not have them yet, or to an older state. A node
 * may remember what was in them, also those of other nodes, so it has to read everything again.
 *
 * Numbers that only grow tell of it: that of the batches of each writer, and that of the commits of commands. A commit may
 * be lost before this node has seen its number, and after it has read its rows. So the writer whose own commits are lost
 * counts a loss, which all others see. Limit: nothing tells of a commit of the last quarter of a second whose writer has
 * failed in the same moment, or was a command.
 */
import type { Read } from '../db/prepared.js'
import type { Write } from '../db/write.js'

interface Progress {
  readonly slot: number
  /** Grows with each commit in the slot. */
  readonly progress: number
  readonly losses: number
}

/** Commands write in the slot 0, and have no row in `fence`. */
const progressOfAll = `select slot, batch as progress, losses from fence
  union all select slot, number, 0 from changes where table_name = 'commands' and slot = 0`

/** A node tells the others of a loss that it has found. */
export function countLoss(node: string): Write {
  return { sql: 'update fence set losses = losses + 1 where node = $1 and place = 0', parameters: [node] }
}

type Loss = 'none' | 'found' | 'told'

export class LossWatch {
  private seen: ReadonlyMap<number, Progress> = new Map()

  /** `ownSlots`: those of this process, which knows by its fence what was lost of them. */
  constructor(
    private readonly read: Read,
    private readonly ownSlots: readonly number[],
  ) {}

  /** Tells if commits were lost since the last look, and if another node has told of it already. */
  async look(): Promise<Loss> {
    const rows = (await this.read<Progress>(progressOfAll, [])).filter(({ slot }) => !this.ownSlots.includes(slot))
    const { seen } = this
    this.seen = new Map(rows.map((row) => [row.slot, row]))
    if (rows.some(({ slot, losses }) => losses > (seen.get(slot)?.losses ?? losses))) return 'told'
    return rows.some(({ slot, progress }) => progress < (seen.get(slot)?.progress ?? progress)) ? 'found' : 'none'
  }
}
