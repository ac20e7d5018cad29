/** Where client libraries reach the REST listener of a test daemon whose certificate they verify. */
import type { TestDaemon } from '../daemon/test-daemon.js'

/** `localhost`, which the certificate names, and the port. */
export function tlsHost({ daemon }: Pick<TestDaemon, 'daemon'>): string {
  const endpoint = daemon.api.find(({ kind }) => kind === 'tls')
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('the daemon has no listener with TLS')
  return `localhost:${endpoint.port}`
}
