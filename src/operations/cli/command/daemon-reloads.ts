/**
 * Serves `posthorn reload` and `posthorn config` in a process that runs the daemon: listens for SIGHUP, and writes the
 * report and the settings in force into the data folder. A full disk does not end a daemon that works.
 */
import type { Config } from '../../../base/config/complete.js'
import { listEffectiveValues } from '../../../base/config/effective-values.js'
import type { WrittenConfig } from '../../../base/config/load.js'
import { SettingsInForce } from '../../../base/config/settings-in-force.js'
import type { Log } from '../../../base/platform/log.js'
import { type ReloadOutcome, writeReloadReport } from './reload-report.js'

export interface Loaded {
  readonly config: Config
  readonly written: WrittenConfig
}

interface PublishedDaemon {
  readonly onReloaded: (loaded: Loaded) => void
  readonly report: (outcome: ReloadOutcome) => void
}

/** Writes that this process is a daemon that is ready. Returns what a reload reports to. */
export function publishDaemon(started: Loaded, log: Log, onReloaded: (loaded: Loaded) => void): PublishedDaemon {
  const report = createReporter(started.config.service.data_dir, log)
  const publish = startPublishing(started, log)
  report(null)
  return {
    report,
    onReloaded: (loaded) => {
      onReloaded(loaded)
      publish(loaded)
    },
  }
}

/** Only the command `reload` needs the report. */
function createReporter(dataDir: string, log: Log): (last: ReloadOutcome | null) => void {
  return (last) => {
    try {
      writeReloadReport(dataDir, { pid: process.pid, last })
    } catch (err) {
      log.error({ err }, 'the report for "posthorn reload" cannot be written')
    }
  }
}

/** Publishes the settings of the start, and returns what publishes those of a reload. */
function startPublishing(started: Loaded, log: Log): (loaded: Loaded) => void {
  const list = ({ config, written }: Loaded): ReturnType<typeof listEffectiveValues> =>
    listEffectiveValues(config, written)
  const settings = new SettingsInForce(started.config.service.data_dir, list(started))
  const publish = (loaded: Loaded): void => {
    try {
      settings.publish(list(loaded))
    } catch (err) {
      log.error({ err }, 'the settings for "posthorn config" cannot be written')
    }
  }
  publish(started)
  return publish
}

/**
 * SIGHUP ends neither a daemon that starts, for which the reload follows once it runs, nor one that stops. `asksReload`
 * tells whether a signal asks for a reload.
 */
export function listenForReloads(asksReload: () => boolean = () => true): ReloadListener {
  let reload: (() => void) | null = null
  let waiting = false
  process.on('SIGHUP', () => {
    if (!asksReload()) return
    if (reload === null) waiting = true
    else reload()
  })
  return {
    use(ready) {
      reload = ready
      if (waiting) ready()
      waiting = false
    },
  }
}

export interface ReloadListener {
  /** A signal calls this from now on. */
  readonly use: (reload: () => void) => void
}
