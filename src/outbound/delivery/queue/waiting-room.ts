/** Decides how many due entries wait in memory; the others stay in the database. */
import type { Lane } from './lane-round.js'
import type { WorkspaceLanes } from './workspace-lanes.js'

export interface WaitingLimits {
  /** Entries in one lane, and of one workspace. */
  readonly perLane: number
  readonly perWorkspace: number
}

/** Entries in all, shared by the workspaces; each of them may have a lane's worth. */
const MAX_WAITING_TOTAL = 20_000

export class WaitingRoom {
  constructor(
    private readonly limits: () => WaitingLimits,
    private readonly countWorkspaces: () => number,
  ) {}

  isFull({ waitingCount, waitingByHost }: WorkspaceLanes, { entries, host }: Lane): boolean {
    if (entries.length >= this.limits().perLane || waitingCount >= this.perWorkspace()) return true
    return (waitingByHost.get(host) ?? 0) >= this.perHost()
  }

  /** Is there room for as many more entries of a workspace, of which so many wait, as are worth a read of the database? */
  hasRoom(waitingCount: number): boolean {
    const maxWaiting = this.perWorkspace()
    return waitingCount <= Math.max(maxWaiting - this.limits().perLane, Math.floor(maxWaiting / 2))
  }

  /** Entries of a workspace for one host, so that thousands of domains behind it leave room for other mail. */
  perHost(): number {
    return Math.max(this.limits().perLane, Math.floor(this.perWorkspace() / 2))
  }

  private perWorkspace(): number {
    const share = Math.floor(MAX_WAITING_TOTAL / Math.max(1, this.countWorkspaces()))
    return Math.max(1, Math.min(this.limits().perWorkspace, Math.max(this.limits().perLane, share)))
  }
}
