/**
 * `serve`: runs the daemon until SIGTERM or SIGINT, then lets it stop.
 *
 * A second signal ends the process at once: what is acknowledged is on disk anyway. SIGHUP has the
 * configuration read again (`reload.ts`).
 */
import type { Loaded } from '../../config/load.js'
import { type Daemon, startDaemon } from '../../daemon/daemon.js'
import type { DaemonParts } from '../../daemon/parts.js'
import { type Log, openLog } from '../../platform/log.js'
import { keepHeapSmall } from '../../platform/memory/heap.js'
import { notifySocket } from '../../platform/processes/notify-socket.js'
import { validUntil } from '../../platform/tls-files.js'
import { version } from '../../platform/version.js'
import { atMost, type Call } from '../command.js'
import { reloader } from './reload.js'

export interface Surroundings {
  /** NOTIFY_SOCKET of systemd. */
  readonly socket: string | null
  /** Standard output is read by systemd's journal. */
  readonly journal: boolean
  /** Reads the configuration once more, from where it was read. */
  readonly reload: () => Loaded
  readonly patience?: NonNullable<DaemonParts['patience']>
}

export async function serve(
  { words, config, clock }: Pick<Call, 'words' | 'config' | 'clock'>,
  { socket, journal, reload, ...parts }: Surroundings,
): Promise<void> {
  atMost(words, 0)
  keepHeapSmall()
  const log = openLog(config.log, journal)
  const systemd = notifySocket(socket, log)
  const stopped = signalled()
  const reloads = signalledReloads()
  // A bug that nobody caught ends the process, as it should; systemd starts it again, and the log says why.
  process.on('uncaughtExceptionMonitor', (error, origin) => log.fatal({ err: error, origin }, 'uncaught'))
  const daemon = await startDaemon({ config, clock, log, ...parts })
  const listening = announce(log, daemon, config.service.data_dir)
  reloads.use(reloader({ config, log, daemon, reload }))
  await systemd.ready(listening)
  const signal = await stopped
  log.info({ signal }, 'stopping')
  await systemd.stopping()
  await daemon.stop()
  log.info('stopped')
}

/** Logs where the daemon listens; returns the same for a reader. */
function announce(log: Log, daemon: Daemon, dataDir: string): string {
  const submission = daemon.submission.map(({ host, port, tls }) => `${host}:${port}${tls ? ' (TLS)' : ''}`)
  const [mx, zone] = [plain(daemon.mx), plain(daemon.zone)]
  const api = daemon.api.map(placeOf)
  const { tls } = daemon
  const about = {
    version,
    submission,
    mx,
    api,
    zone,
    data_dir: dataDir,
    ca: tls.caFile,
    certificate_until: validUntil(tls),
  }
  log.info(about, 'serving')
  return [told('submission', submission), told('MX', mx), told('REST', api), told('DNS', zone)].flat().join(', ')
}

function plain(endpoints: Daemon['zone']): string[] {
  return endpoints.map(({ host, port }) => `${host}:${port}`)
}

/** Nothing of a door that is closed. */
function told(name: string, places: readonly string[]): string[] {
  return places.length === 0 ? [] : [`${name} on ${places.join(', ')}`]
}

function placeOf(endpoint: Daemon['api'][number]): string {
  return endpoint.kind === 'unix' ? `unix:${endpoint.path}` : `${endpoint.host}:${endpoint.port}`
}

function signalled(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        resolve(signal)
        process.once(signal, () => process.exit(1))
      })
    }
  })
}

/** SIGHUP must not end a daemon that is still starting: it is answered once there is something to reload. */
function signalledReloads(): { readonly use: (reload: () => void) => void } {
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
