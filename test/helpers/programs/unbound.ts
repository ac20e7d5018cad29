/**
 * Unbound as the resolver of a test: it asks the given servers, with mixed case in names to see whether questions are
 * echoed.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from '../database/database.js'
import { freePort } from '../free-port.js'
import { childServer } from './child-server.js'

export interface Unbound {
  readonly port: number
  /** For `dns.servers`. */
  readonly address: string
}

interface Authorities {
  /** Zones to the port, on loopback, of the server that has authority over each. */
  readonly zones?: Readonly<Record<string, number>>
  /** The address of the one root server, at port 53: all else is found by delegation. */
  readonly root?: string
}

export async function startUnbound(t: Test, { zones = {}, root }: Authorities): Promise<Unbound> {
  const home = temporaryFolder(t)
  const port = await freePort()
  const file = join(home, 'unbound.conf')
  const stubs = Object.entries(zones).map(
    ([name, at]) => `stub-zone:\n  name: "${name}"\n  stub-addr: 127.0.0.1@${at}\n`,
  )
  const hints = join(home, 'root.hints')
  if (root !== undefined) writeFileSync(hints, `. 60 NS ns.test.\nns.test. 60 A ${root}\n`)
  const settings = `${formatServer(home, port)}  module-config: "iterator"
  use-caps-for-id: yes
  local-zone: "test." nodefault
  cache-max-negative-ttl: 1
  cache-max-ttl: 1
${root === undefined ? '' : `  root-hints: "${hints}"\n`}remote-control:
  control-enable: no
${stubs.join('')}`
  writeFileSync(file, settings)
  await childServer(t, ['/usr/sbin/unbound', '-d', '-c', file], 'start of service')
  return { port, address: `127.0.0.1:${port}` }
}

/** The beginning of a configuration, up to the modules: in the foreground, with its log on standard error. */
export function formatServer(home: string, port: number): string {
  return `server:
  interface: 127.0.0.1
  port: ${port}
  num-threads: 1
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${home}"
  pidfile: ""
  use-syslog: no
  logfile: ""
  verbosity: 1
  do-not-query-localhost: no
`
}
