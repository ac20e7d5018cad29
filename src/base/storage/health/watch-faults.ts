/**
 * Reports when the database stops accepting writes and when it accepts them again.
 *
 * A commit that fails with a `StorageFault` begins an outage, and so does a server that cannot be reached. During an outage
 * a probe is written every five seconds, and something is read. The first probe that succeeds ends it, if no fault occurred since the previous probe: on a full
 * disk small commits still succeed between large ones that fail, and all of that is one outage.
 */
import { type Commit, type CommitOptions, StorageFault, type Write } from '../db/write.js'

interface FaultWatchOptions {
  readonly onOutageStart: (fault: StorageFault) => void
  readonly onOutageEnd: () => void
  /** A small write that is harmless at any time. */
  readonly buildProbe: () => Write
  /** Rejects while nothing can be read. */
  readonly probeReads?: () => Promise<unknown>
  /** Milliseconds between two probes. */
  readonly interval?: number
}

export interface WatchedCommit {
  readonly commit: Commit
  /** The database cannot be used, for whatever. */
  readonly recordFault: (fault: StorageFault) => void
  readonly stop: () => void
}

const PROBE_INTERVAL = 5_000

export function watchFaults(
  commit: Commit,
  { onOutageStart, onOutageEnd, buildProbe, probeReads, interval = PROBE_INTERVAL }: FaultWatchOptions,
): WatchedCommit {
  let timer: NodeJS.Timeout | null = null
  /** A fault has come since the last probe. */
  let faultedSinceProbe = false
  let stopped = false

  function stopProbes(): void {
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  async function watchedCommit(writes: readonly Write[], options?: CommitOptions): Promise<void> {
    try {
      await commit(writes, options)
    } catch (error) {
      if (error instanceof StorageFault) recordFault(error)
      throw error
    }
  }

  function recordFault(fault: StorageFault): void {
    faultedSinceProbe = timer !== null
    if (faultedSinceProbe || stopped) return
    timer = setInterval(() => void sendProbe().catch(() => undefined), interval)
    timer.unref()
    onOutageStart(fault)
  }

  async function sendProbe(): Promise<void> {
    const wasQuiet = !faultedSinceProbe
    faultedSinceProbe = false
    await watchedCommit([buildProbe()], { isProbe: true })
    await probeReads?.()
    if (timer === null || !wasQuiet || faultedSinceProbe) return
    stopProbes()
    onOutageEnd()
  }

  return {
    commit: watchedCommit,
    recordFault,
    stop: () => {
      stopped = true
      stopProbes()
    },
  }
}
