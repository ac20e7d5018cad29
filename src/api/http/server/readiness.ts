/**
 * Whether new work can be taken: there is room on the disk, and the database takes writes.
 *
 * The answer is at most a second old, and a probe that is under way answers everybody who
 * asks meanwhile: asking often costs no more than asking once a second.
 */
import type { Clock } from '../../../platform/clock.js'

export interface ReadinessDeps {
  /** False: the disk is nearly full. */
  readonly hasRoom: () => boolean
  /** Writes something small; rejects where nothing can be written. */
  readonly probe: () => Promise<void>
  readonly clock: Clock
}

/** Why nothing new can be stored, for a reader; null: it can. */
export type CheckReadiness = () => Promise<string | null>

const DISK_NEARLY_FULL = 'the disk is nearly full: nothing new is accepted until there is room'
const DATABASE_UNWRITABLE = 'the database takes no writes: nothing new is accepted until it does'

const MAX_AGE = 1_000

export function createReadinessCheck({ hasRoom, probe, clock }: ReadinessDeps): CheckReadiness {
  let problem: Promise<string | null> | null = null
  let askedAt = 0

  return async () => {
    if (!hasRoom()) return DISK_NEARLY_FULL
    if (problem === null || clock() - askedAt >= MAX_AGE) {
      askedAt = clock()
      problem = probe().then(
        () => null,
        () => DATABASE_UNWRITABLE,
      )
    }
    return problem
  }
}
