/**
 * Finds out before anything is started whether its ports can be had.
 *
 * Known limit: another program may take a port between this look and our own start;
 * that start then fails with the system's words.
 */
import { createServer } from 'node:net'
import type { ListenAddress } from '../config/network-values.js'
import { CannotStart } from './cannot-start.js'

export async function refuseBusyPorts(wanted: readonly ListenAddress[]): Promise<void> {
  for (const place of wanted) {
    const fault = await probePort(place)
    if (fault === null) continue
    throw new CannotStart(`port ${place.port} on ${place.host} ${fault}, such as --port-base 20000`)
  }
}

/** Null: it can be listened on. */
function probePort({ host, port }: ListenAddress): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(describeFault(error)))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })
}

function describeFault({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'is in use: end what uses it, or choose other ports'
  return code === 'EACCES'
    ? 'is not for ordinary users: choose other ports'
    : `cannot be listened on (${message}): choose other ports`
}
