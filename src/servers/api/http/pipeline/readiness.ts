/**
 * The readiness check of `/readyz`: the node does not drain, the disk has room, and the database accepts writes.
 *
 * A result is at most one second old, and concurrent checks share one probe, so the database is
 * probed at most once a second.
 */
import type { Clock } from '../../../../base/platform/clock.js'

/** Why nothing new can be stored, as a sentence. Null if the service is ready. */
type Problem = string | null

const DRAINING = 'this node gives its mail to others and is about to stop'
const DISK_NEARLY_FULL = 'the disk is nearly full: nothing new is accepted until there is room'
const DATABASE_UNWRITABLE = 'the database takes no writes: nothing new is accepted until it does'

/** Milliseconds for which a result is reused. */
const MAX_AGE = 1_000

export class Readiness {
  private problem: Promise<Problem> | null = null
  private probedAt = 0

  constructor(
    /** False if the disk is nearly full. */
    private readonly hasRoom: () => boolean,
    /** Writes something small; rejects when the database accepts no writes. */
    private readonly probe: () => Promise<void>,
    private readonly clock: Clock,
    private readonly isDraining: () => boolean,
  ) {}

  async findProblem(): Promise<Problem> {
    if (this.isDraining()) return DRAINING
    if (!this.hasRoom()) return DISK_NEARLY_FULL
    if (this.problem === null || this.clock() - this.probedAt >= MAX_AGE) {
      this.probedAt = this.clock()
      this.problem = this.probe().then(
        () => null,
        () => DATABASE_UNWRITABLE,
      )
    }
    return this.problem
  }
}
