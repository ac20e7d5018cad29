/** The values of `queue.held`: why an entry of the queue is not attempted. */
export const HOLD = {
  none: 0,
  byOperator: 1,
  /** Its broadcast is paused or cancelled. */
  byBroadcast: 2,
  /** A member of the workspace holds it. */
  byMember: 3,
  /** A hold rule holds it. */
  byRule: 4,
} as const

export type Hold = (typeof HOLD)[keyof typeof HOLD]

export const allHolds: readonly Hold[] = Object.values(HOLD)
