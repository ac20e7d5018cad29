/**
 * What SIGHUP does to a running daemon: the configuration is read again, and of it the certificate and the log
 * level are taken over. Open sessions go on with the certificate that they have; the next handshake gets the new one.
 *
 * A configuration with problems, or a certificate that does not fit its key, changes nothing: the log says why.
 * Other settings that differ count at the next start, and are named.
 */
import type { Config } from '../../config/complete.js'
import type { LoadedConfig } from '../../config/load.js'
import { formatProblems } from '../../config/problems.js'
import type { Daemon } from '../../daemon/daemon.js'
import type { Log } from '../../platform/log.js'
import { keysOf, type UnknownRecord } from '../../platform/records.js'
import { createSerialRunner } from '../../platform/serial-runner.js'
import { certificateExpiry } from '../../platform/tls-files.js'

export interface ReloadDeps {
  /** What the daemon was started with. */
  readonly config: Config
  readonly log: Log
  readonly daemon: Pick<Daemon, 'loadCertificate'>
  readonly reload: () => LoadedConfig
}

/** Each call reloads once; of several at the same time one follows the other. */
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
    const waiting = findChangedSettings(config, loaded.config)
    if (waiting.length > 0) log.warn({ settings: waiting }, 'these settings have changed and count at the next start')
  } catch (error) {
    log.error({ err: error }, 'not reloaded: the certificate stays as it was')
  }
}

/** Names as `inbound.max_size`, beside those that a reload takes over. */
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
