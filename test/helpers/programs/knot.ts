/**
 * Knot as the DNS server of a test: a child process on loopback, over UDP and TCP.
 *
 * One zone is the root, so that any other name does not exist. The domains of `broken` are zones that it cannot load:
 * it answers SERVFAIL for all names in them. Or it is a secondary of another server's zone, which it transfers.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from '../database/database.js'
import { freePort } from '../free-port.js'
import { type ChildServer, childServer } from './child-server.js'

export interface Knot {
  /** For `dns.servers`. */
  readonly address: string
  /** Replaces the records. */
  readonly publish: (records: readonly string[]) => Promise<void>
}

interface KnotAddress {
  readonly host: string
  readonly port: number
}

/** `records` as the lines of a zone file, with absolute names. */
export async function startKnot(
  t: Test,
  records: readonly string[],
  broken: readonly string[] = [],
  place: KnotAddress | null = null,
): Promise<Knot> {
  const home = temporaryFolder(t)
  const { host, port } = place ?? { host: '127.0.0.1', port: await freePort() }
  let serial = 0
  const write = (lines: readonly string[]): void => {
    serial += 1
    const head = ['$TTL 60', `. SOA ns.test. root.test. ${serial} 60 60 60 1`, '. NS ns.test.', `ns.test. A ${host}`]
    writeFileSync(join(home, 'root.zone'), [...head, ...lines, ''].join('\n'))
  }
  write(records)
  const zone = (domain: string, name: string): string => `  - domain: ${domain}\n    file: ${home}/${name}.zone\n`
  const zones = `zone:\n${zone('.', 'root')}${broken.map((domain) => zone(domain, 'missing')).join('')}`
  const child = await startKnotServer(t, home, { host, port }, zones)
  return {
    address: `${host}:${port}`,
    publish: async (lines) => {
      const since = child.lines()
      write(lines)
      child.signal('SIGHUP')
      await child.waitForLine(`serial ${serial - 1} -> ${serial}`, since)
    },
  }
}

interface Secondary {
  readonly port: number
  /** Resolves when it has the zone with this serial. */
  readonly waitForSerial: (serial: number) => Promise<unknown>
}

/** It must listen at `port`, because the primary must know where to send NOTIFY. */
export async function startSecondary(t: Test, port: number, zone: string, primary: number): Promise<Secondary> {
  const home = temporaryFolder(t)
  const from = `remote:\n  - id: primary\n    address: 127.0.0.1@${primary}\n`
  const notifyAcl = 'acl:\n  - id: posthorn\n    address: 127.0.0.1\n    action: notify\n'
  const zones = `${from}${notifyAcl}zone:\n  - domain: ${zone}\n    master: primary\n    acl: posthorn\n    file: ${home}/copy.zone\n`
  const child = await startKnotServer(t, home, { host: '127.0.0.1', port }, zones)
  return { port, waitForSerial: (serial) => child.waitForLine(`-> ${serial}`) }
}

function startKnotServer(t: Test, home: string, { host, port }: KnotAddress, rest: string): Promise<ChildServer> {
  const file = join(home, 'knot.conf')
  const settings = `server:
    rundir: ${home}
    listen: ${host}@${port}
database:
    storage: ${home}
log:
  - target: stdout
    any: info
${rest}`
  writeFileSync(file, settings)
  return childServer(t, ['/usr/sbin/knotd', '-c', file], 'server started')
}
