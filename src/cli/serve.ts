/**
 * `serve`: runs the daemon until SIGTERM or SIGINT, then lets it stop.
 *
 * A second signal ends the process at once: what is acknowledged is on disk anyway.
 */
import { type Daemon, startDaemon } from '../daemon/daemon.js'
import type { DaemonParts } from '../daemon/parts.js'
import { keepHeapSmall } from '../platform/heap.js'
import { openLog } from '../platform/log.js'
import { notifySocket } from '../platform/notify-socket.js'
import { atMost, type Call } from './command.js'

export async function serve(
  { words, config, clock }: Pick<Call, 'words' | 'config' | 'clock'>,
  socket: string | null,
  parts: Pick<DaemonParts, 'patience'> = {},
): Promise<void> {
  atMost(words, 0)
  keepHeapSmall()
  const log = openLog(config.log)
  const systemd = notifySocket(socket, log)
  const stopped = signalled()
  // A bug that nobody caught ends the process, as it should; systemd starts it again, and the log says why.
  process.on('uncaughtExceptionMonitor', (error, origin) => log.fatal({ err: error, origin }, 'uncaught'))
  const daemon = await startDaemon({ config, clock, log, ...parts })
  const listening = daemon.submission.map(({ host, port, tls }) => `${host}:${port}${tls ? ' (TLS)' : ''}`)
  const [mx, zone] = [plain(daemon.mx), plain(daemon.zone)]
  const api = daemon.api.map(placeOf)
  log.info(
    { submission: listening, mx, api, zone, data_dir: config.service.data_dir, ca: daemon.tls.caFile },
    'serving',
  )
  await systemd.ready(
    [told('submission', listening), told('MX', mx), told('REST', api), told('DNS', zone)].flat().join(', '),
  )
  const signal = await stopped
  log.info({ signal }, 'stopping')
  await systemd.stopping()
  await daemon.stop()
  log.info('stopped')
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
