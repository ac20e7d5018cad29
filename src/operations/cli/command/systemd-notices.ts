/**
 * Tells systemd that the daemon is ready, reloads or stops, its load once a minute, and the beats of the watchdog. If
 * NOTIFY_SOCKET is not set, nothing is sent.
 */

import type { Log } from '../../../base/platform/log.js'
import { openNotifySocket } from '../../../base/platform/processes/notify-socket.js'
import { readBeatInterval, startWatchdog } from '../../../base/platform/processes/watchdog.js'
import type { Daemon } from '../../daemon/daemon.js'

/** Milliseconds between two texts about the load, which `systemctl status` shows. */
const STATUS_INTERVAL = 60_000
/** Microseconds from one status of an upgrade to the next, which comes within ten seconds, before systemd gives up. */
const UPGRADE_PATIENCE = 60_000_000

export class SystemdNotices {
  private readonly socket: ReturnType<typeof openNotifySocket>
  private readonly beatInterval: number | null
  private timer: NodeJS.Timeout | undefined
  private watchdog: ReturnType<typeof startWatchdog> | null = null
  private status = ''
  private restartFor = ''

  /** `env` is the environment of the process. */
  constructor(env: Readonly<Record<string, string | undefined>>, log: Pick<Log, 'warn'>) {
    const { NOTIFY_SOCKET: path } = env
    this.socket = openNotifySocket(path === undefined || path === '' ? null : path, log)
    this.beatInterval = readBeatInterval(env, process.pid)
  }

  /** The start takes long, and is not stuck. */
  notifyUpgrading(status: string): void {
    this.socket.send(`EXTEND_TIMEOUT_USEC=${UPGRADE_PATIENCE}`, `STATUS=${status}`)
  }

  /** `listening` has the addresses of the listeners. Starts the watchdog if systemd expects beats. */
  notifyReady(listening: string, { describeLoad, probeWriter }: Pick<Daemon, 'describeLoad' | 'probeWriter'>): void {
    this.status = listening
    this.sendStatus('READY=1')
    this.timer = setInterval(() => {
      this.status = `${describeLoad()}; ${listening}`
      this.sendStatus()
    }, STATUS_INTERVAL)
    if (this.beatInterval === null) return
    const beat = (): void => this.socket.send('WATCHDOG=1')
    this.watchdog?.stop()
    this.watchdog = startWatchdog({ interval: this.beatInterval, probe: probeWriter, beat })
  }

  /** `began` is in microseconds of the monotonic clock. */
  notifyReloading(began: number): void {
    this.socket.send('RELOADING=1', `MONOTONIC_USEC=${began}`)
  }

  /** `pending` names the settings that have changed and need a restart. `systemctl status` shows them. */
  notifyReloaded(pending: readonly string[]): void {
    this.restartFor = pending.length === 0 ? '' : `restart needed for ${pending.join(', ')}; `
    this.sendStatus('READY=1')
  }

  /** The watchdog goes on until `close`. */
  notifyStopping(): void {
    this.suspend()
    this.socket.send('STOPPING=1', 'STATUS=stopping')
  }

  /** The daemon starts again in this process. The watchdog goes on. */
  notifyRejoining(): void {
    this.suspend()
    this.socket.send('STATUS=joining the other nodes again')
  }

  close(): void {
    this.watchdog?.stop()
    this.socket.close()
  }

  private suspend(): void {
    clearInterval(this.timer)
    this.watchdog?.stopProbes()
  }

  private sendStatus(...lines: readonly string[]): void {
    this.socket.send(...lines, `STATUS=${this.restartFor}${this.status}`)
  }
}
