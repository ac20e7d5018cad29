/**
 * Notices when the database stops taking writes and when it takes them again.
 *
 * A commit that fails with a `StorageFault` begins an outage. While it lasts a probe is written every
 * five seconds, and the first one that succeeds, with no fault since the probe before it, is the end: on a
 * disk without room small commits still succeed between large ones that fail, and that is one outage.
 */
import { type Commit, StorageFault, type Write } from '../writer/write.js'

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
  /** Since the last probe. */
  let faulted = false
  let stopped = false

  function endProbes(): void {
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  async function watched(writes: readonly Write[]): Promise<void> {
    try {
      await commit(writes)
    } catch (error) {
      if (error instanceof StorageFault) note(error)
      throw error
    }
  }

  function note(fault: StorageFault): void {
    faulted = timer !== null
    if (faulted || stopped) return
    timer = setInterval(() => void look().catch(() => undefined), every)
    timer.unref()
    begun(fault)
  }

  async function look(): Promise<void> {
    const quiet = !faulted
    faulted = false
    await watched([probe()])
    if (timer === null || !quiet || faulted) return
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
