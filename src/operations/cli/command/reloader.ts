/**
 * The reload by SIGHUP: reads the configuration again, and puts in force what can change while the daemon runs. Open
 * sessions go on; what they do next obeys the new settings.
 *
 * A configuration with problems, a certificate that does not match its key, or a database that is away changes nothing. The log says what was
 * done, and so does the report that the command `reload` waits for.
 */
import type { LoadedConfig } from '../../../base/config/load.js'
import { formatProblems } from '../../../base/config/problems.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import type { Log } from '../../../base/platform/log.js'
import { createSerialRunner } from '../../../base/platform/serial-runner.js'
import { certificateExpiry } from '../../../base/platform/tls-files.js'
import { StorageFault } from '../../../base/storage/db/write.js'
import type { Daemon } from '../../daemon/daemon.js'
import { type ReloadOutcome, readMonotonicMicroseconds } from './reload-report.js'
import type { SystemdNotices } from './systemd-notices.js'

type SoundConfig = Extract<LoadedConfig, { kind: 'config' }>

interface ReloadDeps {
  readonly log: Log
  readonly daemon: Pick<Daemon, 'reload'>
  readonly reload: () => LoadedConfig
  readonly systemd: Pick<SystemdNotices, 'notifyReloading' | 'notifyReloaded'>
  /** What was put in force. Never throws. */
  readonly onReloaded: (loaded: SoundConfig) => void
  /** Never throws. */
  readonly report: (outcome: ReloadOutcome) => void
}

/** Each call reloads once; concurrent calls run one after the other. */
export function createReloader(deps: ReloadDeps): () => void {
  const next = createSerialRunner()
  return () =>
    void next(async () => {
      const began = readMonotonicMicroseconds()
      deps.systemd.notifyReloading(began)
      const outcome = { began, ...(await reloadOnce(deps)) }
      deps.systemd.notifyReloaded(outcome.pending)
      deps.report(outcome)
    })
}

async function reloadOnce({ log, daemon, reload, onReloaded }: ReloadDeps): Promise<Omit<ReloadOutcome, 'began'>> {
  try {
    const loaded = reload()
    if (loaded.kind === 'problems') {
      const { file, problems } = loaded
      log.error({ problems: formatProblems(file, problems) }, 'not reloaded: the configuration has problems')
      return { ...refused, problems: [...problems] }
    }
    const { tls, applied, pending } = await daemon.reload(loaded.config)
    onReloaded(loaded)
    const about = { log_level: log.level, certificate: tls.caFile, certificate_until: certificateExpiry(tls) }
    log.info({ ...about, settings: applied }, 'reloaded')
    if (pending.length > 0)
      log.warn({ settings: pending }, 'these settings have changed and take effect at the next start')
    return { ok: true, applied: [...applied], pending: [...pending], problems: [] }
  } catch (error) {
    if (error instanceof StorageFault) {
      const message = `the database cannot be used now: ${error.message}`
      log.error({ reason: error.message }, 'not reloaded: the database cannot be used now')
      return { ...refused, problems: [{ key: '', message }] }
    }
    log.error({ err: error }, 'not reloaded: the certificate stays as it was')
    return { ...refused, problems: [{ key: 'tls', message: errorMessageOf(error) }] }
  }
}

const refused: Omit<ReloadOutcome, 'began' | 'problems'> = { ok: false, applied: [], pending: [] }
