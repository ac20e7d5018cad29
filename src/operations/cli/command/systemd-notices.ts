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

interface SystemdNotices {
  /** The start takes long, and is not stuck. */
  readonly notifyUpgrading: (status: string) => void
  /** `listening` has the addresses of the listeners. Starts the watchdog if systemd expects beats. */
  readonly notifyReady: (listening: string, daemon: Pick<Daemon, 'describeLoad' | 'probeWriter'>) => void
  readonly reloading: {
    /** `began` is in microseconds of the monotonic clock. */
    readonly onBegin: (began: number) => void
    readonly onEnd: () => void
  }
  /** The watchdog goes on until `close`. */
  readonly notifyStopping: () => void
  readonly close: () => void
}

/** `env` is the environment of the process. */
export function openSystemdNotices(
  env: Readonly<Record<string, string | undefined>>,
  log: Pick<Log, 'warn'>,
): SystemdNotices {
  const { NOTIFY_SOCKET: path } = env
  const { send, close } = openNotifySocket(path === undefined || path === '' ? null : path, log)
  const interval = readBeatInterval(env, process.pid)
  let timer: NodeJS.Timeout | undefined
  let watchdog: ReturnType<typeof startWatchdog> | null = null
  return {
    notifyUpgrading: (status) => send(`EXTEND_TIMEOUT_USEC=${UPGRADE_PATIENCE}`, `STATUS=${status}`),
    notifyReady: (listening, { describeLoad, probeWriter }) => {
      send('READY=1', `STATUS=${listening}`)
      timer = setInterval(() => send(`STATUS=${describeLoad()}; ${listening}`), STATUS_INTERVAL)
      if (interval === null) return
      watchdog = startWatchdog({ interval, probe: probeWriter, beat: () => send('WATCHDOG=1') })
    },
    reloading: {
      onBegin: (began) => send('RELOADING=1', `MONOTONIC_USEC=${began}`),
      onEnd: () => send('READY=1'),
    },
    notifyStopping: () => {
      clearInterval(timer)
      watchdog?.stopProbes()
      send('STOPPING=1', 'STATUS=stopping')
    },
    close: () => {
      watchdog?.stop()
      close()
    },
  }
}
