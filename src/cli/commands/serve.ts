/**
 * `serve`: runs the daemon until SIGTERM or SIGINT, then stops it.
 *
 * A second signal ends the process at once: everything acknowledged is on disk. SIGHUP reloads the configuration
 * (`reload.ts`).
 */
import type { LoadedConfig } from '../../config/load.js'
import { type Daemon, startDaemon } from '../../daemon/daemon.js'
import type { DaemonOptions } from '../../daemon/daemon-options.js'
import { type Log, openLog } from '../../platform/log.js'
import { createLogTail } from '../../platform/log-tail.js'
import { limitHeapGrowth } from '../../platform/memory/heap.js'
import { createNotifySocket } from '../../platform/processes/notify-socket.js'
import { certificateExpiry } from '../../platform/tls-files.js'
import { version } from '../../platform/version.js'
import { type Call, refuseExtraWords } from '../command.js'
import { createReloader } from './reload.js'

interface ServeOptions {
  /** NOTIFY_SOCKET of systemd. */
  readonly socket: string | null
  /** Standard output goes to systemd's journal. */
  readonly journal: boolean
  /** Reads the configuration again, from the same file. */
  readonly reload: () => LoadedConfig
  readonly stopTimeouts?: NonNullable<DaemonOptions['stopTimeouts']>
}

export async function serve(
  { words, config, clock }: Pick<Call, 'words' | 'config' | 'clock'>,
  { socket, journal, reload, ...daemonOptions }: ServeOptions,
): Promise<void> {
  refuseExtraWords(words, 0)
  limitHeapGrowth()
  const logTail = createLogTail()
  const log = openLog(config.log, { journal, tail: logTail.write })
  const systemd = createNotifySocket(socket, log)
  const stopped = waitForSignal()
  const reloads = listenForReloads()
  // An uncaught error ends the process; the log says why, and systemd restarts it.
  process.on('uncaughtExceptionMonitor', (error, origin) => log.fatal({ err: error, origin }, 'uncaught exception'))
  const daemon = await startDaemon({ config, clock, log, logTail, ...daemonOptions })
  const listening = logEndpoints(log, daemon, config.service.data_dir)
  reloads.use(createReloader({ config, log, daemon, reload }))
  await systemd.notifyReady(listening)
  const signal = await stopped
  log.info({ signal }, 'stopping')
  await systemd.notifyStopping()
  await daemon.stop()
  log.info('stopped')
}

/** Logs where the daemon listens, and returns it as a text. */
function logEndpoints(log: Log, daemon: Daemon, dataDir: string): string {
  const submission = daemon.submission.map(({ host, port, tls }) => `${host}:${port}${tls ? ' (TLS)' : ''}`)
  const [mx, zone] = [formatEndpoints(daemon.mx), formatEndpoints(daemon.zone)]
  const acme = formatEndpoints(daemon.challenges)
  const api = daemon.api.map(formatApiEndpoint)
  const { tls } = daemon
  const about = {
    version,
    submission,
    mx,
    api,
    zone,
    ...(acme.length === 0 ? {} : { acme }),
    data_dir: dataDir,
    ca: tls.caFile,
    certificate_until: certificateExpiry(tls),
  }
  log.info(about, 'serving')
  return [
    formatService('submission', submission),
    formatService('MX', mx),
    formatService('REST', api),
    formatService('DNS', zone),
    formatService('ACME', acme),
  ]
    .flat()
    .join(', ')
}

function formatEndpoints(endpoints: Daemon['zone']): string[] {
  return endpoints.map(({ host, port }) => `${host}:${port}`)
}

/** Empty without endpoints. */
function formatService(name: string, endpoints: readonly string[]): string[] {
  return endpoints.length === 0 ? [] : [`${name} on ${endpoints.join(', ')}`]
}

function formatApiEndpoint(endpoint: Daemon['api'][number]): string {
  return endpoint.kind === 'unix' ? `unix:${endpoint.path}` : `${endpoint.host}:${endpoint.port}`
}

function waitForSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        resolve(signal)
        process.once(signal, () => process.exit(1))
      })
    }
  })
}

/** SIGHUP must not end a daemon that is still starting: the reload follows once it runs. */
function listenForReloads(): { readonly use: (reload: () => void) => void } {
  let reload: (() => void) | null = null
  let waiting = false
  process.on('SIGHUP', () => {
    if (reload === null) waiting = true
    else reload()
  })
  return {
    use(ready) {
      reload = ready
      if (waiting) ready()
    },
  }
}
