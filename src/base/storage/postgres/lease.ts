/**
 * The lease of a node: it has committed something within the last seconds. Other nodes neither wait for a node without one nor
 * leave it its work. After a lapse a node must look at what others have changed before it commits anything new.
 */
import { LEASE_TIME } from './node-rows.js'

export class Lease {
  private lastCommit = performance.now()
  private isLapsed = false
  private lapses = 0

  isHeld(): boolean {
    return !this.isLapsed && this.age() <= LEASE_TIME * 1_000
  }

  /** Milliseconds since the last commit. */
  age(): number {
    return performance.now() - this.lastCommit
  }

  /** Something was committed just now. */
  renew(): void {
    if (!this.isHeld()) {
      this.isLapsed = true
      this.lapses += 1
    }
    this.lastCommit = performance.now()
  }

  readonly countLapses = (): number => this.lapses

  /** The node knows of all that others had changed until the lapse with this number. */
  readonly endLapse = (lapse: number): void => {
    if (lapse === this.lapses) this.isLapsed = false
  }
}
