/**
 * Whether new work can be taken: there is room on the disk, and the database takes writes.
 *
 * The answer is at most a second old, and a probe that is under way answers everybody who
 * asks meanwhile: asking often costs no more than asking once a second.
 */
import type { Clock } from '../platform/clock.js'

export interface ReadinessDeps {
  /** False: the disk is nearly full. */
  readonly hasRoom: () => boolean
  /** Writes something small; rejects where nothing can be written. */
  readonly probe: () => Promise<void>
  readonly clock: Clock
}

export type Readiness = () => Promise<boolean>

const FRESH = 1_000

export function readiness({ hasRoom, probe, clock }: ReadinessDeps): Readiness {
  let writable: Promise<boolean> | null = null
  let askedAt = 0

  return async () => {
    if (!hasRoom()) return false
    if (writable === null || clock() - askedAt >= FRESH) {
      askedAt = clock()
      writable = probe().then(
        () => true,
        () => false,
      )
    }
    return writable
  }
}
