/**
 * `serve`: runs the daemon until SIGTERM or SIGINT, then stops it.
 *
 * A second signal ends the process at once: everything acknowledged is on disk. SIGHUP reloads the configuration
 * (`reloader.ts`). It tells systemd what the daemon does (`systemd-notices.ts`).
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../../../base/config/complete.js'
import type { LoadedConfig } from '../../../base/config/load.js'
import type { Problem } from '../../../base/config/problems.js'
import { type Log, openLog } from '../../../base/platform/log.js'
import { AddressHider } from '../../../base/platform/log-privacy.js'
import { LogTail } from '../../../base/platform/log-tail.js'
import { limitHeapGrowth } from '../../../base/platform/memory/heap.js'
import { certificateExpiry } from '../../../base/platform/tls-files.js'
import { version } from '../../../base/platform/version.js'
import { DatabaseTaken } from '../../../base/storage/db/schema-errors.js'
import { StorageFault } from '../../../base/storage/db/write.js'
import { describeServer } from '../../../base/storage/postgres/configured-server.js'
import { type Daemon, startDaemon } from '../../daemon/daemon.js'
import type { DaemonOptions } from '../../daemon/daemon-options.js'
import { type Call, flagOption, refuseExtraWords } from '../command/command.js'
import { type Loaded, listenForReloads, publishDaemon } from '../command/daemon-reloads.js'
import { explainListenerFault } from '../command/listener-fault.js'
import { createReloader } from '../command/reloader.js'
import { SystemdNotices } from '../command/systemd-notices.js'

/** Milliseconds between two attempts to join the other nodes again. */
const RETRY_PAUSE = 1_000

interface ServeOptions {
  /** The environment of the process: systemd names its socket and the time of its watchdog there. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Standard output goes to systemd's journal. */
  readonly journal: boolean
  /** Reads the configuration again, from the same file. */
  readonly reload: () => LoadedConfig
  /** Names of one label that the loaded configuration has; the log tells of them. */
  readonly shortNames?: readonly Problem[]
  readonly stopTimeouts?: NonNullable<DaemonOptions['stopTimeouts']>
}

export async function serve(
  { words, options, config, written, clock }: Pick<Call, 'words' | 'options' | 'config' | 'written' | 'clock'>,
  { env, journal, reload, shortNames = [], ...daemonOptions }: ServeOptions,
): Promise<void> {
  refuseExtraWords(words, 0)
  limitHeapGrowth()
  const { log, logTail, addressHider } = openLogOfDaemon(config, journal)
  const systemd = new SystemdNotices(env, log)
  const stopped = waitForSignal()
  // An uncaught error ends the process; the log says why, and systemd restarts it.
  process.on('uncaughtExceptionMonitor', (error, origin) => log.fatal({ err: error, origin }, 'uncaught exception'))
  const upgrade = {
    keepCopy: !flagOption(options, 'no-copy'),
    onProgress: (status: string) => systemd.notifyUpgrading(status),
  }
  const parts = { clock, log, logTail, addressHider, upgrade, loadsAhead: true, ...daemonOptions }
  const runner = new DaemonRunner({ parts, log, systemd, reload, reloads: listenForReloads(), stopped })
  warnOfShortNames(log, shortNames)
  for (let loaded: Loaded | null = { config, written }; loaded !== null; ) loaded = await runner.run(loaded)
  systemd.close()
}

interface RunnerDeps {
  readonly parts: Omit<DaemonOptions, 'config' | 'onTaken'>
  readonly log: Log
  readonly systemd: SystemdNotices
  readonly reload: () => LoadedConfig
  readonly reloads: ReturnType<typeof listenForReloads>
  /** Resolves to the signal that ends the process. */
  readonly stopped: Promise<string>
}

/** Runs the daemon, and again with what was loaded last if another node has adopted it meanwhile. */
class DaemonRunner {
  private hasServed = false
  private isStopped = false

  constructor(private readonly deps: RunnerDeps) {
    void deps.stopped.then(() => {
      this.isStopped = true
    })
  }

  /** A daemon that joins again waits for a server that is away. */
  private async startDaemon(options: DaemonOptions): Promise<Daemon> {
    for (;;) {
      try {
        return await startDaemon(options)
      } catch (error) {
        const mayPass = this.hasServed && error instanceof StorageFault && !(error instanceof DatabaseTaken)
        if (!mayPass || this.isStopped) throw explainListenerFault(error, options.config)
        this.deps.log.warn({ err: error }, 'the node cannot join the others now')
        await pause(RETRY_PAUSE)
      }
    }
  }

  /** Resolves to the settings to go on with, or to null if a signal came. */
  async run(loaded: Loaded): Promise<Loaded | null> {
    const { parts, log, systemd, stopped, reloads } = this.deps
    const { config } = loaded
    const taken = Promise.withResolvers<null>()
    const daemon = await this.startDaemon({ ...parts, config, onTaken: () => taken.resolve(null) })
    this.hasServed = true
    let last = loaded
    // This comes before the line `serving`; operators reload after that line. A signal that comes earlier waits.
    const reloading = publishDaemon(loaded, log, (next) => {
      last = next
    })
    const listening = logEndpoints(log, daemon, config)
    reloads.use(createReloader({ ...reloading, log, daemon, reload: this.deps.reload, systemd }))
    systemd.notifyReady(listening, daemon)
    const signal = await Promise.race([stopped, taken.promise])
    reloads.use(() => undefined)
    log.info({ signal }, signal === null ? 'stopping, to join the other nodes again' : 'stopping')
    if (signal === null) systemd.notifyRejoining()
    else systemd.notifyStopping()
    await daemon.stop()
    log.info('stopped')
    return signal === null ? last : null
  }
}

function openLogOfDaemon(config: Config, journal: boolean) {
  const logTail = new LogTail()
  const addressHider = new AddressHider(config.log.hash_local_parts)
  const log = openLog(config.log, {
    journal,
    tail: (line) => logTail.write(line),
    hide: (line) => addressHider.hide(line),
  })
  return { log, logTail, addressHider }
}

function warnOfShortNames(log: Log, shortNames: readonly Problem[]): void {
  for (const { key: setting, message: reason } of shortNames) {
    log.warn({ setting, reason }, 'a name of this server has one label: other servers may refuse its mail')
  }
}

/** Logs where the daemon listens, and returns it as a text. */
function logEndpoints(log: Log, daemon: Daemon, { service, storage, node }: Config): string {
  const submission = daemon.submission.map(({ host, port, tls }) => `${host}:${port}${tls ? ' (TLS)' : ''}`)
  const [mx, zone] = [formatEndpoints(daemon.mx), formatEndpoints(daemon.zone)]
  const metrics = formatEndpoints(daemon.metrics)
  const acme = formatEndpoints(daemon.challenges)
  const api = daemon.api.map(formatApiEndpoint)
  const { tls } = daemon
  const about = {
    version,
    submission,
    mx,
    api,
    zone,
    metrics,
    ...(acme.length === 0 ? {} : { acme }),
    data_dir: service.data_dir,
    ...(storage.url === '' ? {} : { database: describeServer(storage), node: node.name }),
    ca: tls.caFile,
    certificate_until: certificateExpiry(tls),
  }
  log.info(about, 'serving')
  return [
    formatService('submission', submission),
    formatService('MX', mx),
    formatService('REST', api),
    formatService('DNS', zone),
    formatService('metrics', metrics),
    formatService('ACME', acme),
  ]
    .flat()
    .join(', ')
}

function formatEndpoints(endpoints: Daemon['zone']): string[] {
  return endpoints.map(({ host, port }) => `${host}:${port}`)
}

/** Empty if there are no endpoints. */
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
