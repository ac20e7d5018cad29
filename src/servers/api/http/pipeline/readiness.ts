/**
 * The readiness check of `/readyz`: the disk has room, and the database accepts writes.
 *
 * A result is at most one second old, and concurrent checks share one probe, so the database is
 * probed at most once a second.
 */
import type { Clock } from '../../../../base/platform/clock.js'

interface ReadinessDeps {
  /** False: the disk is nearly full. */
  readonly hasRoom: () => boolean
  /** Writes something small; rejects when the database accepts no writes. */
  readonly probe: () => Promise<void>
  readonly clock: Clock
}

/** Why nothing new can be stored, as a sentence; null: ready. */
export type CheckReadiness = () => Promise<string | null>

const DISK_NEARLY_FULL = 'the disk is nearly full: nothing new is accepted until there is room'
const DATABASE_UNWRITABLE = 'the database takes no writes: nothing new is accepted until it does'

/** Milliseconds for which a result is reused. */
const MAX_AGE = 1_000

export function createReadinessCheck({ hasRoom, probe, clock }: ReadinessDeps): CheckReadiness {
  let problem: Promise<string | null> | null = null
  let probedAt = 0

  return async () => {
    if (!hasRoom()) return DISK_NEARLY_FULL
    if (problem === null || clock() - probedAt >= MAX_AGE) {
      probedAt = clock()
      problem = probe().then(
        () => null,
        () => DATABASE_UNWRITABLE,
      )
    }
    return problem
  }
}
