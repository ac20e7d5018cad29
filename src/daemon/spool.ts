/** Spool files at the start: swept; or folded into the database, where a standby follows that has its log alone. */
import type { Config } from '../config/complete.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import { purgeSpool } from '../storage/maintenance/purge-log.js'
import { foldSpool } from '../storage/spool/fold.js'
import type { StartOptions } from './daemon-options.js'

/** Milliseconds between two lines about the progress; the service manager hears of it as often. */
const REPORT_INTERVAL = 5_000

/** Whether the daemon stores large messages in spool files. */
export function usesSpool({ standby }: Pick<Config, 'standby'>): boolean {
  return standby.folder === ''
}

/** To be called before the standby begins, whose first copy then has all messages. */
export async function foldForStandby(
  { config, upgrade }: Pick<StartOptions, 'config' | 'upgrade'>,
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

/** Removes what the last run has left: bytes of commits that it did not make, and what was deleted since its last sweep. */
export function startFirstSweep(database: Database, log: Log): { readonly stop: () => Promise<void> } {
  const abortController = new AbortController()
  const sweeping = purgeSpool(database, abortController.signal).catch((err: unknown) => {
    log.error({ err }, 'spool files cannot be swept now')
  })
  return {
    stop: async () => {
      abortController.abort()
      await sweeping
    },
  }
}
