/** Logs when the disk or the database cannot store anything new, and when they can again. */
import type { StartSettings } from '../../base/config/live-config.js'
import { type Clock, formatTimestamp } from '../../base/platform/clock.js'
import { readDiskSpace } from '../../base/platform/disk-space.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { setServiceState } from '../../base/storage/db/service-state.js'
import type { Write } from '../../base/storage/db/write.js'
import { type DiskGuard, startDiskGuard, thresholdText } from '../../base/storage/health/disk-guard.js'
import { type WatchedCommit, watchFaults } from '../../base/storage/health/watch-faults.js'

interface Deps {
  readonly config: StartSettings
  readonly clock: Clock
  readonly log: Log
}

/** Written to check whether the database accepts writes. */
export function readinessProbe(now: number): Write {
  return setServiceState({ key: 'readiness_probe', value: String(now) })
}

interface WatchDeps extends Pick<Deps, 'clock' | 'log'> {
  /** It is called when an outage has begun, and when it has ended. */
  readonly onOutage?: ((isOutage: boolean) => void) | undefined
}

/** Watches the commits, and what the database says of itself. */
export function watchDatabase(
  { commit, read, onFault }: Pick<Database, 'commit' | 'read' | 'onFault'>,
  { clock, log, onOutage }: WatchDeps,
): WatchedCommit {
  let since = 0
  const watched = watchFaults(commit, {
    onOutageStart: (fault) => {
      since = clock()
      log.error({ code: fault.code, reason: fault.message }, 'the database takes no writes: nothing new is accepted')
      onOutage?.(true)
    },
    onOutageEnd: () => {
      const about = { since: formatTimestamp(since), seconds: Math.round((clock() - since) / 1000) }
      log.error(about, 'the database takes writes again')
      onOutage?.(false)
    },
    buildProbe: () => readinessProbe(clock()),
    probeReads: async () => {
      await read('select 1 as one', [])
    },
  })
  onFault(watched.recordFault)
  return watched
}

/** Begin and end are both errors, so that a reader of errors alone sees the end too. */
export async function watchDisk(
  { config, log }: Pick<Deps, 'config' | 'log'>,
  stopSteps: { push: (step: () => void) => void },
): Promise<DiskGuard> {
  const path = config.service.data_dir
  const guard = await startDiskGuard({
    path,
    readSpace: readDiskSpace,
    onChange: (hasRoom, { free, total }) => {
      const about = { data_dir: path, free, total }
      if (hasRoom) log.error(about, 'the disk has room again: new mail is accepted')
      else log.error(about, `the disk is nearly full, no new mail is accepted: ${thresholdText}`)
    },
  })
  stopSteps.push(guard.stop)
  return guard
}
