/**
 * Checks before the start that all ports are free.
 *
 * Known limit: another program may take a port between this check and the start, which then fails with the system's
 * error.
 */
import { createServer } from 'node:net'
import type { ListenAddress } from '../../base/config/network-values.js'
import { CannotStart } from './cannot-start.js'

export async function refuseBusyPorts(addresses: readonly ListenAddress[]): Promise<void> {
  for (const address of addresses) {
    const fault = await probePort(address)
    if (fault === null) continue
    throw new CannotStart(`port ${address.port} on ${address.host} ${fault}, such as --port-base 20000`)
  }
}

/** Null if the port is free. */
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
