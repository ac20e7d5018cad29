/**
 * Tells systemd the state of the daemon (sd_notify(3)): datagrams to the Unix socket that NOTIFY_SOCKET names.
 *
 * The package unix-dgram sends them from this process, so the unit needs no `NotifyAccess=` beyond its default. A send
 * is one system call that never waits. A failure is logged once, and the daemon goes on.
 */
import { createRequire } from 'node:module'
import type { Log } from '../log.js'

interface NotifySocket {
  /** Lines such as `READY=1`, in one datagram. */
  readonly send: (...lines: readonly string[]) => void
  readonly close: () => void
}

/** What is used of unix-dgram, which has no types. Errors are emitted, or thrown by `createSocket`. */
interface DatagramSocket {
  connect(path: string): void
  send(content: Buffer): void
  close(): void
  on(event: 'error', listener: (error: Error) => void): void
}

/** `path`: the value of NOTIFY_SOCKET; null: not started by systemd, nothing is sent. */
export function openNotifySocket(path: string | null, log: Pick<Log, 'warn'>): NotifySocket {
  if (path === null) return { send: () => undefined, close: () => undefined }
  let hasFailed = false
  const report = (error: Error): void => {
    if (!hasFailed) log.warn({ error: error.message, socket: path }, 'systemd cannot be notified')
    hasFailed = true
  }
  const socket = openSocket(path, report)
  return {
    send: (...lines) => {
      socket?.send(Buffer.from(lines.map((line) => `${line.replaceAll('\n', ' ')}\n`).join('')))
    },
    close: () => socket?.close(),
  }
}

function openSocket(path: string, report: (error: Error) => void): DatagramSocket | null {
  try {
    if (!path.startsWith('/')) throw new Error('an address that is not a path is not supported')
    const { createSocket } = createRequire(import.meta.url)('unix-dgram')
    const socket: DatagramSocket = createSocket('unix_dgram')
    socket.on('error', report)
    socket.connect(path)
    return socket
  } catch (error) {
    report(error instanceof Error ? error : new Error(String(error)))
    return null
  }
}
