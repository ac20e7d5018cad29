/** Decides how many due entries wait in memory; the others stay in the database. */
import type { Lane } from './lane-round.js'
import type { WorkspaceLanes } from './workspace-lanes.js'

export interface WaitingLimits {
  /** The most entries in one lane, and of one workspace. */
  readonly perLane: number
  readonly perWorkspace: number
}

/** The most entries in all, shared by the workspaces. Each workspace may have as many as one lane holds. */
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

  /** Tells whether a workspace with this many waiting entries has enough room to justify a read of the database. */
  hasRoom(waitingCount: number): boolean {
    const maxWaiting = this.perWorkspace()
    return waitingCount <= Math.max(maxWaiting - this.limits().perLane, Math.floor(maxWaiting / 2))
  }

  /** The most entries of a workspace for one host, so that thousands of domains behind it leave room for other mail. */
  perHost(): number {
    return Math.max(this.limits().perLane, Math.floor(this.perWorkspace() / 2))
  }

  private perWorkspace(): number {
    const share = Math.floor(MAX_WAITING_TOTAL / Math.max(1, this.countWorkspaces()))
    return Math.max(1, Math.min(this.limits().perWorkspace, Math.max(this.limits().perLane, share)))
  }
}
