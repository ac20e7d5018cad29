/** The values of `queue.held`: why an entry of the queue is not attempted. */
export const HOLD = {
  none: 0,
  byOperator: 1,
  /** Its broadcast is paused or cancelled. */
  byBroadcast: 2,
  /** By a member of the workspace. */
  byMember: 3,
  /** By a hold rule. */
  byRule: 4,
} as const

export type Hold = (typeof HOLD)[keyof typeof HOLD]

export const allHolds: readonly Hold[] = Object.values(HOLD)
