/**
 * Tells systemd the state of the daemon (sd_notify): READY=1, STOPPING=1, STATUS=….
 *
 * Node.js cannot write to a Unix datagram socket, so the program `systemd-notify` does it. Since it is another
 * process, the unit needs `NotifyAccess=all`, and `--pid` names the daemon. A failure is only logged.
 */
import { execFile } from 'node:child_process'
import type { Log } from '../log.js'

interface NotifySocket {
  notifyReady(status: string): Promise<void>
  notifyStopping(): Promise<void>
  /** The start takes long: the status, and a minute more before systemd takes it for stuck. */
  notifyStarting(status: string): Promise<void>
}

/** `socket`: the value of NOTIFY_SOCKET; null: not started by systemd, nothing is sent. */
export function createNotifySocket(socket: string | null, log: Pick<Log, 'warn'>): NotifySocket {
  const send = (words: readonly string[]): Promise<void> =>
    socket === null ? Promise.resolve() : runSystemdNotify(socket, words, log)
  return {
    notifyReady: (status) => send(['READY=1', `STATUS=${status}`]),
    notifyStopping: () => send(['STOPPING=1', 'STATUS=stopping']),
    notifyStarting: (status) => send([`STATUS=${status}`, 'EXTEND_TIMEOUT_USEC=60000000']),
  }
}

function runSystemdNotify(socket: string, words: readonly string[], log: Pick<Log, 'warn'>): Promise<void> {
  const options = { env: { NOTIFY_SOCKET: socket, PATH: '/usr/bin:/bin' }, timeout: 5000 }
  return new Promise((resolve) => {
    execFile('systemd-notify', [`--pid=${process.pid}`, ...words], options, (error) => {
      if (error !== null) log.warn({ error: error.message }, 'systemd-notify failed')
      resolve()
    })
  })
}
