/**
 * Notices when the database stops taking writes and when it takes them again.
 *
 * A commit that fails with a `StorageFault` begins an outage, the next one that succeeds ends
 * it. While it lasts a probe is written every five seconds, so that the end is noticed though
 * nothing else is to be written.
 */
import { type Commit, StorageFault, type Write } from './write.js'

export interface FaultWatch {
  readonly begun: (fault: StorageFault) => void
  readonly ended: () => void
  /** Something small that may be written at any time. */
  readonly probe: () => Write
  /** Milliseconds between two probes. */
  readonly every?: number
}

export interface WatchedCommit {
  readonly commit: Commit
  readonly stop: () => void
}

const EVERY = 5_000

export function watchFaults(commit: Commit, { begun, ended, probe, every = EVERY }: FaultWatch): WatchedCommit {
  let timer: NodeJS.Timeout | null = null
  let stopped = false

  function endProbes(): void {
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  async function watched(writes: readonly Write[]): Promise<void> {
    try {
      await commit(writes)
    } catch (error) {
      if (error instanceof StorageFault && timer === null && !stopped) {
        timer = setInterval(() => void watched([probe()]).catch(() => undefined), every)
        timer.unref()
        begun(error)
      }
      throw error
    }
    if (timer === null) return
    endProbes()
    ended()
  }

  return {
    commit: watched,
    stop: () => {
      stopped = true
      endProbes()
    },
  }
}
