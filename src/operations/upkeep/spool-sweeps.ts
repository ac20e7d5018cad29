/**
 * Starts the sweep of spool files, at the start and when much was deleted; or folds them into the database, where a
 * standby follows that has its log alone.
 */
import type { StartSettings } from '../../base/config/live-config.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { purgeSpool } from '../../base/storage/maintenance/purge-log.js'
import { foldSpool } from '../../base/storage/spool/fold.js'
import { hasMuchDeleted } from '../../base/storage/spool/spool-use.js'
import type { UpgradeSettings } from './database-upgrade.js'

/** Milliseconds between two lines about the progress; the service manager hears of it as often. */
const REPORT_INTERVAL = 5_000

/** Whether the daemon stores large messages in spool files. */
export function usesSpool({ standby }: StartSettings): boolean {
  return standby.folder === ''
}

/** Call it before the standby begins, so that its first copy has all messages. */
export async function foldForStandby(
  { config, upgrade }: { readonly config: StartSettings; readonly upgrade?: UpgradeSettings | undefined },
  database: Database,
  log: Log,
): Promise<void> {
  if (usesSpool(config)) return
  let reported = performance.now()
  const bytes = await foldSpool(database, {
    onProgress: (done, total) => {
      if (performance.now() - reported < REPORT_INTERVAL) return
      reported = performance.now()
      upgrade?.onProgress?.(`moving messages into the database: ${Math.floor((done / total) * 100)} %`)
      log.info({ bytes: done, total }, 'messages are being moved into the database, for the standby')
    },
    onLost: (table, { message }, place) =>
      log.error({ table, ...place, error: message }, 'the bytes of a message are lost'),
  })
  if (bytes > 0) log.info({ bytes }, 'messages were moved into the database, for the standby')
}

/** Milliseconds between two looks at what was deleted. */
const SWEEP_INTERVAL = 60_000

/**
 * Removes what the last run has left: bytes of commits that it did not make, and what was deleted since its last sweep. After
 * that, it sweeps when much was deleted; housekeeping sweeps each hour.
 */
export function startSweeps(
  database: Pick<Database, 'read' | 'commit' | 'files'>,
  log: Pick<Log, 'error'>,
  interval = SWEEP_INTERVAL,
): { readonly stop: () => Promise<void> } {
  const abortController = new AbortController()
  let sweeping: Promise<unknown> | null = null
  const sweep = (isDue: () => Promise<boolean>): void => {
    sweeping ??= sweepIf(isDue).finally(() => {
      sweeping = null
    })
  }
  const sweepIf = async (isDue: () => Promise<boolean>): Promise<void> => {
    try {
      if (await isDue()) await purgeSpool(database, abortController.signal)
    } catch (err) {
      log.error({ err }, 'spool files cannot be swept now')
    }
  }
  sweep(async () => true)
  const timer = setInterval(() => sweep(() => hasMuchDeleted(database.read)), interval).unref()
  return {
    stop: async () => {
      clearInterval(timer)
      abortController.abort()
      await sweeping
    },
  }
}
