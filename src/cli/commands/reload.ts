/**
 * The reload by SIGHUP: reads the configuration again and applies its certificate and log level. Open sessions keep
 * their certificate; the next handshake uses the new one.
 *
 * A configuration with problems, or a certificate that does not match its key, changes nothing, and the log says why.
 * Other changed settings are named in the log and take effect at the next start.
 */
import type { Config } from '../../config/complete.js'
import type { LoadedConfig } from '../../config/load.js'
import { formatProblems } from '../../config/problems.js'
import type { Daemon } from '../../daemon/daemon.js'
import type { Log } from '../../platform/log.js'
import { keysOf, type UnknownRecord } from '../../platform/records.js'
import { createSerialRunner } from '../../platform/serial-runner.js'
import { certificateExpiry } from '../../platform/tls-files.js'

interface ReloadDeps {
  /** What the daemon was started with. */
  readonly config: Config
  readonly log: Log
  readonly daemon: Pick<Daemon, 'loadCertificate'>
  readonly reload: () => LoadedConfig
}

/** Each call reloads once; concurrent calls run one after the other. */
export function createReloader(deps: ReloadDeps): () => void {
  const next = createSerialRunner()
  return () => void next(() => reloadOnce(deps))
}

async function reloadOnce({ config, log, daemon, reload }: ReloadDeps): Promise<void> {
  try {
    const loaded = reload()
    if (loaded.kind === 'problems') {
      log.error(
        { problems: formatProblems(loaded.file, loaded.problems) },
        'not reloaded: the configuration has problems',
      )
      return
    }
    const tls = await daemon.loadCertificate(loaded.config.tls)
    log.level = loaded.config.log.level
    log.info({ log_level: log.level, certificate: tls.caFile, certificate_until: certificateExpiry(tls) }, 'reloaded')
    const pending = findChangedSettings(config, loaded.config)
    if (pending.length > 0)
      log.warn({ settings: pending }, 'these settings have changed and take effect at the next start')
  } catch (error) {
    log.error({ err: error }, 'not reloaded: the certificate stays as it was')
  }
}

/** Names such as `inbound.max_size`, without the settings that a reload applies. */
function findChangedSettings(before: Config, after: Config): readonly string[] {
  const names = keysOf(after).flatMap((section) => {
    const old: UnknownRecord = { ...before[section] }
    const now: UnknownRecord = { ...after[section] }
    return Object.keys({ ...old, ...now })
      .filter((key) => JSON.stringify(old[key]) !== JSON.stringify(now[key]))
      .map((key) => `${section}.${key}`)
  })
  return names.filter((name) => !['tls.cert_file', 'tls.key_file', 'log.level'].includes(name))
}
